"""Programs from other machines by rsync over ssh, and the helper processes of the store.

``run_watched`` runs a helper program of the store (rsync, cp). No shell interprets its arguments. It is watched, and
ended with its process group.
"""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from sluice.jobs.programs.errors import Away, Unfit, one_line, reason_of
from sluice.jobs.programs.fetch.allowed_hosts import addresses_of, is_named
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.program_cache import Fetched, SourceMark
from sluice.jobs.programs.source import Rules, Source

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


class CommandResult(Struct, frozen=True, kw_only=True):
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
) -> CommandResult:
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
    return CommandResult(code=code, stdout=said[0], stderr=said[1])


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


#: Options so that ssh never prompts: a host that is unknown or requires a password counts as unreachable.
_SSH: Final = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ClearAllForwardings=yes"
_SSH_PORT: Final = 22
#: Exit codes of rsync for files that could not be read or written. Others concern the connection.
_OF_FILES: Final = frozenset({3, 11, 23})


def fetch_by_rsync(
    source: Source, into: Path, known: SourceMark | None, rules: Rules, patience: Patience, *, lock: int
) -> Fetched | None:
    """Copy the file. None if rsync lists the same size, time and mode as when it was marked.

    The host is checked like that of a web server, with one limit: ssh resolves its name again.
    """
    for program in ("rsync", "ssh"):
        if shutil.which(program) is None:
            raise Unfit(f"the program {program} is not installed on this machine")
    if not is_named(source.host, rules.hosts):
        addresses_of(source.host, _SSH_PORT, rules.hosts, patience)
    listing = _rsync(["--list-only", "--no-h", "--", source.place], rules, patience, lock).stdout
    _check_listing(listing, rules)
    if known is not None and known.stamp and known.stamp == one_line(listing):
        return None
    _rsync(["-tp", "--inplace", "--whole-file", "--", source.place, str(into)], rules, patience, lock)
    try:
        status = into.stat(follow_symlinks=False)
    except FileNotFoundError:
        raise Unfit("it is no file") from None
    if not stat.S_ISREG(status.st_mode):
        raise Unfit("it is no file")
    if status.st_size > rules.bytes_max:
        raise Unfit(f"it has more than the {rules.bytes_max} bytes that are allowed")
    if source.form == "run.sh" and not status.st_mode & stat.S_IXUSR:
        raise Unfit("it is not executable")
    into.chmod(0o600)
    with into.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Fetched(path=into, sha256=digest, mark=SourceMark(stamp=one_line(listing)))


def _check_listing(listing: str, rules: Rules) -> None:
    """Check the listing: mode, size, day, time and name. A false listing is caught by the limit on written bytes."""
    mode, size = [*listing.split(maxsplit=2), "", ""][:2]
    if not mode.startswith("-"):
        raise Unfit("it is no file")
    if size.isdecimal() and int(size) > rules.bytes_max:
        raise Unfit(f"it has {size} bytes, more than the {rules.bytes_max} that are allowed")


def _rsync(words: list[str], rules: Rules, patience: Patience, lock: int) -> CommandResult:
    """Run rsync. ``-s`` keeps the remote shell from interpreting the path; ``-L`` follows remote links."""
    timeout = f"--timeout={int(patience.left_s()) + 1}"
    try:
        answer = run_watched(
            ["rsync", "-sL", timeout, "-e", _SSH, *words],
            patience,
            file_bytes_max=rules.bytes_max,
            holds=(lock,),
        )
    except OSError as error:
        raise Unfit(f"rsync cannot be started: {reason_of(error)}") from None
    if answer.code == 0:
        return answer
    raise (Unfit if answer.code in _OF_FILES else Away)(_why(answer))


def _why(answer: CommandResult) -> str:
    """Return the first line of the error. Earlier warnings of ssh and the later summary of rsync are less specific."""
    for line in answer.stderr.splitlines():
        if line.strip() and not line.startswith("Warning:"):
            return one_line(line)
    return f"rsync ended with {answer.code}"
