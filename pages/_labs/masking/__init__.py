"""What the masking page alone uses."""
