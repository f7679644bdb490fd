"""What the projection page alone uses."""
