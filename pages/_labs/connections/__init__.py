"""What the connections page alone uses."""
