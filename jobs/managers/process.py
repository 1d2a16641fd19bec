"""Commands that outlive the worker: a job manager for work that is too long to be begun again.

    class Import(LocalProcess):
        command = ["./import.sh", "{start}", "{end}"]

What holds:

- The command leads a session of its own under a *leader*, a small shell that writes down who it is, waits, and writes
  down how the command ended. So the end can be read by whoever asks, also after a restart of every worker.
- Each job has one folder, named by its token, and in it one folder for each run, named by its claim. Whoever starts
  or looks for a run holds the job's lock, and the leader inherits that lock and lets it go once it has written
  down who it is. A worker that dies at any moment leaves either no run, or one that the next finds.
- A run that is alive under the token is found, not started twice. So is one that has ended if nobody has ever asked
  how it stands: then its worker died before it could store the handle. Every other has been heard of, and belongs
  to a round that is over. Rounds do not tell them apart: a worker that dies begins a new one.
- A process is signalled only if it was born when the handle says.

What it cannot do: see a process on another machine. From there a run can be judged by its folder once it has
ended; before that, asking is an error. A leader that somebody kills alone leaves its command to itself.
"""

import errno
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sluice.jobs.job import Job
from sluice.jobs.managed import POLL_S, Stage, Status
from sluice.jobs.managers.birth import TELL, birth_of
from sluice.jobs.managers.record import Leader, Mark, Record, tail
from sluice.jobs.policy import Policy
from sluice.jobs.runners.braces import fill, values_of
from sluice.jobs.runners.environment import command_environment
from sluice.jobs.submission import JSON

#: Runs are kept here, under the folder that the worker runs in, unless the class says otherwise.
FOLDER = ".sluice/processes"
#: What a command has between SIGTERM and SIGKILL, unless the class says otherwise.
GRACE_S = 10.0
#: A killed process that the kernel does not give up (a dead network disk) is waited for no longer than this.
REAP_S = 10.0
#: Where a command may write how far it is.
PROGRESS = "SLUICE_PROGRESS"

#: Its stdin is the job's lock. Signals are trapped and not ignored, which the command would inherit, and not before
#: there is a command to hear them. What that leaves behind in its group ends with it, and with it the leader itself.
_LEADER = f"""
folder=$1 host=$2; shift 2
{{ echo "$$ $host"; {TELL}; }} >"$folder/started.new" \
    && command -p mv "$folder/started.new" "$folder/started" && exec </dev/null || exit 125
trap : HUP INT QUIT TERM
"$@"
echo $? >"$folder/exit.new" && command -p mv "$folder/exit.new" "$folder/exit"
kill -9 0
"""


class LocalProcess:
    """Runs a command as a process of its own. To be subclassed: users say what it is and where it runs."""

    #: The words of the command; in braces stand the same values as in a ``bash_cmd``, each within its word.
    command: Sequence[str] = ()
    env: Mapping[str, str] = MappingProxyType({})
    env_from_os: Sequence[str] = ()
    cwd: str | None = None
    folder: str = FOLDER
    grace_s: float = GRACE_S
    poll_s: float = POLL_S

    def argv(self, job: Job, folder: Path) -> Sequence[str]:  # noqa: ARG002  # For those who override it.
        """The words of the command for this job. ``folder`` is this run's own, for files that it needs."""
        if isinstance(self.command, str) or not self.command:
            raise ValueError(f"{type(self).__name__}.command is {self.command!r}; it takes a list of words")
        values = values_of(job.claimed)
        return [fill(word, values) for word in self.command]

    def environment(self, job: Job) -> Mapping[str, str]:
        """What the command sees: as much as a ``bash_cmd`` does."""
        return command_environment(job.claimed, self._policy, os.environ)

    def run(self, job: Job) -> JSON:
        place = Path(self.folder).absolute() / job.token
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(place) as lock:
            standing = self._standing(place)
            if standing is not None:
                job.log.info("found again what an earlier claim has started, in %s", standing.folder)
                return standing.handle
            record = self._start(job, place, lock)
        with _locked(place):  # The leader has let it go: it has written down who it is, or is dead.
            leader = record.leader
        if leader is None:
            raise OSError(f"the command could not be started: {tail(record.stderr) or 'its shell died'}")
        job.log.info("what it prints is in %s", record.folder)
        return leader.handle

    def check(self, handle: Any) -> Status:
        leader = Leader.of(handle)
        record = self._record(leader)
        record.mark(Mark.CHECKED)
        alive = record.exit_code is None and _is_alive(leader)
        code = record.exit_code  # Asked after that: a run that has ended in between has one by now.
        if code is None and alive:
            return Status(Stage.RUNNING.value, progress=record.progress)
        if code == 0:
            return Status(Stage.SUCCEEDED.value, tail(record.stdout), record.progress)
        return Status(
            Stage.FAILED.value, f"{_in_words(code)}\n{tail(record.stderr)}".strip(), record.progress
        )

    def cancel(self, handle: Any) -> None:
        leader = Leader.of(handle)
        record = Record(Path(leader.folder))
        with suppress(FileNotFoundError):  # Its folder is gone; the process may still be there.
            record.mark(Mark.CANCELLED)
        if record.exit_code is None and _is_alive(leader):
            _end(leader, self.grace_s)

    @property
    def _policy(self) -> Policy:
        return Policy(env=dict(self.env), env_from_os=tuple(self.env_from_os))

    def _record(self, leader: Leader) -> Record:
        """Its folder; LookupError where another run's is there by now, or none."""
        record = Record(Path(leader.folder))
        if record.leader != leader:
            raise LookupError(f"there is no record of it in {leader.folder} on {socket.gethostname()}")
        return record

    def _standing(self, place: Path) -> Leader | None:
        """What stands under the token and is not over."""
        record = Record(max(_runs(place), key=lambda run: int(run.name), default=place / "0"))
        leader = record.leader
        if leader is None:
            return None
        if record.is_marked(Mark.CANCELLED):
            self.cancel(leader.handle)  # Whoever began to end it may not have come to the end of that.
            return None
        if record.is_marked(Mark.CHECKED):
            return leader if self.check(leader.handle).stage is Stage.RUNNING else None
        return leader

    def _start(self, job: Job, place: Path, lock: BufferedRandom) -> Record:
        """Begin a new run in place of those that are over."""
        for run in _runs(place):
            shutil.rmtree(run)
        record = Record(place / str(job.claim))
        record.folder.mkdir(mode=0o700)
        argv = [os.fspath(word) for word in self.argv(job, record.folder)]
        with record.stdout.open("wb") as stdout, record.stderr.open("wb") as stderr:
            leader = subprocess.Popen(
                ("/bin/sh", "-c", _LEADER, "sluice-leader", record.folder, socket.gethostname(), *argv),
                stdin=lock,
                stdout=stdout,
                stderr=stderr,
                cwd=self.cwd,
                env={**self.environment(job), PROGRESS: str(record.progress_file)},
                start_new_session=True,
            )
        # Whoever has started a process has to reap it, also when its work is another worker's by then.
        threading.Thread(target=leader.wait, name=f"reaper-{leader.pid}", daemon=True).start()
        return record


@contextmanager
def _locked(place: Path) -> Iterator[BufferedRandom]:
    """The job's lock. It is let go when the last who has it open closes it, so never explicitly."""
    with (place / "lock").open("a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _runs(place: Path) -> list[Path]:
    return [entry for entry in place.iterdir() if entry.name.isdecimal()]


def _is_alive(leader: Leader) -> bool:
    """OSError where that cannot be seen from this machine."""
    here = socket.gethostname()
    if leader.host != here:
        raise OSError(
            errno.EREMOTE,
            f"process {leader.pid} was started on {leader.host} and cannot be seen from {here}; if that machine is"
            f" gone for good, remove {leader.folder}",
        )
    return birth_of(leader.pid) == leader.born


def _end(leader: Leader, grace_s: float) -> None:
    """Ask the whole group to end, then make it; TimeoutError where the kernel does not give it up."""
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, REAP_S)):
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, number)
        until = time.monotonic() + wait_s
        while _is_alive(leader):
            if time.monotonic() >= until:
                break
            time.sleep(0.01)
        else:
            return
    raise TimeoutError(f"process {leader.pid} on {leader.host} does not end, though it was killed")


def _in_words(code: int | None) -> str:
    if code is None:
        return "It was killed, or its machine went down, before it could tell how it ended."
    try:
        return f"exited with {code}, as if by {signal.Signals(code - 128).name}"
    except ValueError:
        return f"exited with {code}"
