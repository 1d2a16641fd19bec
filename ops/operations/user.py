"""Identity of the user of a command. It is stored with manual interventions."""

import getpass
import os
import socket


def whoami() -> str:
    """Return the user and the host, like ``ana@desk``. An account without a name is given by its number."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
