"""Helper program of the store (rsync, cp): started without a shell, watched, and ended with its process group."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from sluice.jobs.programs.patience import Patience

#: Seconds to wait for a killed process (a dead network disk may block it). After this it is left to the kernel.
REAP_S: Final = 10.0
_SHELL: Final = "/bin/sh"
#: Runs its arguments, and kills the whole group at the end-of-file of its stdin, when the process at the other end
#: dies. ``ulimit`` counts in blocks of 512 bytes (in some shells twice that).
_LEASH: Final = """
ulimit -f "$1"; shift
exec 3<&0 </dev/null
"$@" 3<&- &
command=$!
{ read -r rest <&3; kill -9 0; } >/dev/null 2>&1 &
exec 3<&-
wait "$command"
"""
_WORDS_BYTES: Final = 4096


class Answer(Struct, frozen=True, kw_only=True):
    """Exit code, and the beginning of the output."""

    code: int
    stdout: str
    stderr: str


def run_watched(
    words: Sequence[str],
    patience: Patience,
    *,
    holds: tuple[int, ...] = (),
    file_bytes_max: int | None = None,
) -> Answer:
    """Run the command to its end. An exception of ``patience`` is raised after the whole group has ended.

    The process keeps the descriptors in ``holds`` open, so their locks are held until it has ended. With
    ``file_bytes_max``, each file that it writes is limited to about that size, and it is killed if this process dies. A
    command that surely ends soon needs no such protection. OSError if it cannot be started.
    """
    if file_bytes_max is not None:
        blocks = file_bytes_max // 512 + 2048
        words = (_SHELL, "-c", _LEASH, "sluice-leash", str(blocks), *words)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        group = subprocess.Popen(
            words,
            stdin=subprocess.PIPE if file_bytes_max is not None else subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=holds,
            start_new_session=True,
        )
        try:
            code = _wait(group, patience)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group.pid, signal.SIGKILL)
            if group.stdin is not None:
                group.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                group.wait(REAP_S)
        said = [
            os.pread(file.fileno(), _WORDS_BYTES, 0).decode("utf-8", "replace") for file in (stdout, stderr)
        ]
    return Answer(code=code, stdout=said[0], stderr=said[1])


def _wait(group: subprocess.Popen[bytes], patience: Patience) -> int:
    """Wait until the group's leader has exited. It stays unreaped, so the group's number cannot be reused."""
    pause_s = 0.001
    while (code := _code(group)) is None:
        time.sleep(min(pause_s, patience.look_s()))
        pause_s = min(2 * pause_s, 0.05)
    return code


def _code(group: subprocess.Popen[bytes]) -> int | None:
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the number is free slightly too early.
        return group.poll()
    seen = os.waitid(os.P_PID, group.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if seen is None else seen.si_status
