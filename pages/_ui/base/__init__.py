"""What every page stands on: settings, sentences, theme, links, and escaping."""
