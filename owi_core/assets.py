"""Where the word lists, texts, catalogs and shipped models lie."""

from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets"
