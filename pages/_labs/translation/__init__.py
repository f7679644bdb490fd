"""The parts of the translation page."""
