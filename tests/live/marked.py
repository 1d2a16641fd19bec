"""Processes of this machine, identified by a mark in the environment that they were started with."""

from pathlib import Path

_VARIABLE = "STREAM"


def marking(token: str) -> dict[str, str]:
    return {_VARIABLE: token}


def processes(token: str) -> list[int]:
    """Return the living processes with the mark. An ended process has no environment any more."""
    mark = f"{_VARIABLE}={token}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
        except OSError:
            continue  # The process has just ended, or belongs to another user.
    return found
