"""Who types a command: what is kept of those who step in by hand."""

import getpass
import os
import socket


def whoami() -> str:
    """``ana@desk``. An account that nobody has named is a number."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
