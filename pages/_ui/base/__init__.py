"""What every page is built on: settings, sentences, theme, links, and escaping."""
