"""Fetching of programs: from files, by HTTP and by rsync."""
