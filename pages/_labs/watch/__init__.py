"""What the watch page alone uses."""
