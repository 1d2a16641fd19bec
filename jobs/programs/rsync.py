"""Programs from other machines, by rsync over ssh."""

import hashlib
import shutil
import stat
from pathlib import Path
from typing import Final

from sluice.jobs.programs.hosts import addresses_of, is_named
from sluice.jobs.programs.mark import Fetched, Mark
from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.rules import Rules
from sluice.jobs.programs.source import Source
from sluice.jobs.programs.unfit import Away, Unfit, one_line, reason_of
from sluice.jobs.programs.watched import Answer, run_watched

#: Options so that ssh never prompts: a host that is unknown or requires a password counts as unreachable.
_SSH: Final = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ClearAllForwardings=yes"
_SSH_PORT: Final = 22
#: Exit codes of rsync for files that could not be read or written. Others concern the connection.
_OF_FILES: Final = frozenset({3, 11, 23})


def fetch_by_rsync(
    source: Source, into: Path, known: Mark | None, rules: Rules, patience: Patience, *, lock: int
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
    return Fetched(path=into, sha256=digest, mark=Mark(stamp=one_line(listing)))


def _check_listing(listing: str, rules: Rules) -> None:
    """Check the listing: mode, size, day, time and name. A false listing is caught by the limit on written bytes."""
    mode, size = [*listing.split(maxsplit=2), "", ""][:2]
    if not mode.startswith("-"):
        raise Unfit("it is no file")
    if size.isdecimal() and int(size) > rules.bytes_max:
        raise Unfit(f"it has {size} bytes, more than the {rules.bytes_max} that are allowed")


def _rsync(words: list[str], rules: Rules, patience: Patience, lock: int) -> Answer:
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


def _why(answer: Answer) -> str:
    """Return the first line of the error. Earlier warnings of ssh and the later summary of rsync are less specific."""
    for line in answer.stderr.splitlines():
        if line.strip() and not line.startswith("Warning:"):
            return one_line(line)
    return f"rsync ended with {answer.code}"
