"""Commands and programs: their placeholders, environment and start."""
