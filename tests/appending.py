"""Appending of lines to a file by several processes, each of which may be killed at any moment."""

import os
from pathlib import Path


def append(path: Path | str, line: str, *, durable: bool = False) -> None:
    """Append a line by one system call, so that lines do not mix and a killed process leaves a whole line or none.

    With ``durable`` it is on disk when this returns.
    """
    opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(opened, f"{line}\n".encode())
        if durable:
            os.fsync(opened)
    finally:
        os.close(opened)
