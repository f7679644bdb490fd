"""What all pages share: frame, language, state and components."""
