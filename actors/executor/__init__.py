"""The executor: claims, runs, recorded outcomes, and the polls of external work."""
