"""Lines that several processes write to one file, any of which may be killed at any moment."""

import os
from pathlib import Path


def append(path: Path | str, line: str, *, durable: bool = False) -> None:
    """By one call, so that lines do not mix and a killed process leaves a whole one or none; with ``durable`` it is on
    disk when this returns."""
    opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(opened, f"{line}\n".encode())
        if durable:
            os.fsync(opened)
    finally:
        os.close(opened)
