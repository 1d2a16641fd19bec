"""Identification of processes. Numbers are reused, so a process is identified by its number and its birth.

With ``/proc``, the birth is the boot ID of the machine and the clock tick at which the process began. Without it, the
birth is the second that ``ps`` reports.
"""

import os
import subprocess
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
#: Shell command that prints the shell's own birth, for ``read_birth``.
TELL = (
    f'command -p cat {_BOOT} "/proc/$$/stat" 2>/dev/null'
    ' || LC_ALL=C TZ=UTC command -p ps -o state= -o lstart= -p "$$"'
)
_ENDED = ("Z", "X")


def birth_of(pid: int) -> str | None:
    """Return the birth of the process with this number, or None if no such process is alive."""
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
    """Return the birth from the output of ``TELL``. None for a process that has ended and is not yet reaped."""
    boot, newline, stat = told.strip().partition("\n")
    if newline:
        after_name = stat.rpartition(")")[2].split()
        state, birth = after_name[0], f"{boot}/{after_name[19]}"
    else:
        state, _, birth = told.strip().partition(" ")
    return None if state.startswith(_ENDED) or not birth else birth.strip()
