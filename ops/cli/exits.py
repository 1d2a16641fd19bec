"""The exit codes of the command. The errors of ``jobs.errors`` bring their own: 2 and 3."""

DONE = 0
FAILED = 1
REFUSED = 2
BROKEN = 70
INTERRUPTED = 130
