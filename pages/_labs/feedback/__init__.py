"""What the feedback page alone uses."""
