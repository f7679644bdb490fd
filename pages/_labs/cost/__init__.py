"""What the cost page alone uses."""
