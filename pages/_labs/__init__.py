"""The labs: one folder each, and none imports another."""
