"""What only the families lab uses."""
