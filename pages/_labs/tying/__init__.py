"""What the tying page alone uses."""
