"""What the compare page alone uses."""
