"""The frame around every page: title, navigation, sharing, and report."""
