"""Attention that is computed from the input, and outputs that are wired back into weights.

The package knows no page, no session and no language; docs/architecture.md has its map.
"""

VERSION = "0.1.0"
