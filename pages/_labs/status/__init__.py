"""What the status page alone uses."""
