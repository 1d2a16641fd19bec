"""Plans that are shown and not entered."""
