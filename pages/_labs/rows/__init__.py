"""What the rows page alone uses."""
