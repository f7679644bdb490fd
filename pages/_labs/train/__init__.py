"""What the train page alone uses."""
