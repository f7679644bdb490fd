"""Lessons: their files, their checks, and the bar above a lab."""
