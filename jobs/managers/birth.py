"""Which process a number means. Numbers are used again, so a process is known by its number and its birth.

Where there is a ``/proc`` the birth is the boot that the machine runs under and the tick of it at which the process
began; elsewhere it is the second that ``ps`` tells.
"""

import os
import subprocess
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
#: What a shell writes down of itself, for ``read_birth``.
TELL = (
    f'command -p cat {_BOOT} "/proc/$$/stat" 2>/dev/null'
    ' || LC_ALL=C TZ=UTC command -p ps -o state= -o lstart= -p "$$"'
)
_ENDED = ("Z", "X")


def birth_of(pid: int) -> str | None:
    """When the process with this number was born; None where none is alive under it."""
    if _BOOT.exists():
        try:
            return read_birth(_BOOT.read_text() + Path(f"/proc/{pid}/stat").read_text())
        except (FileNotFoundError, ProcessLookupError):
            return None
    asked = subprocess.run(
        ("/bin/ps", "-o", "state=", "-o", "lstart=", "-p", str(pid)),
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    return read_birth(asked.stdout)


def read_birth(told: str) -> str | None:
    """The birth in what ``TELL`` wrote; None for a process that has ended and is only not reaped yet."""
    boot, newline, stat = told.strip().partition("\n")
    if newline:
        after_name = stat.rpartition(")")[2].split()
        state, birth = after_name[0], f"{boot}/{after_name[19]}"
    else:
        state, _, birth = told.strip().partition(" ")
    return None if state.startswith(_ENDED) or not birth else birth.strip()
