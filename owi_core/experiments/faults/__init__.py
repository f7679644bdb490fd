"""Mistakes made on purpose, each wrapped around the right code."""
