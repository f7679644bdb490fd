"""What the step page alone uses."""
