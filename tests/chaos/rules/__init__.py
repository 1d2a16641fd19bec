"""Rules that must hold of each run. Each is a function of the history that yields every violation."""
