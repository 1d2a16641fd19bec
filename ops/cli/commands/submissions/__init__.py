"""Commands that request jobs, and commands about submissions."""
