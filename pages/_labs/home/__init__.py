"""What the home page alone uses."""
