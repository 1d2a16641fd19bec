"""Job manager for commands that outlive the worker, because their work is too long to start again.

    class Import(LocalProcess):
        command = ["./import.sh", "{start}", "{end}"]

Invariants:

- The command leads a session of its own under a *leader*. The leader is a small shell that records its own identity,
  waits, and records how the command ended. So any process can read the outcome, even after a restart of all workers.
- Each job has one folder, named by its token, and in it one folder for each run, named by its claim. A process that
  starts or searches for a run holds the job's lock. The leader inherits that lock and releases it once it has recorded
  its identity. So the death of a worker at any moment leaves either no run or a run that the next worker finds.
- A run that is alive under the token is found and not started twice. A run that has ended and was never checked is also
  found, because its worker died before it could store the handle. Any other run was checked and belongs to a finished
  round. The round number does not distinguish these cases because the death of a worker also begins a new round.
- A process is signalled only if its birth is the one in the handle.

The folder of one run is the only trace of the run, and any process may read it at any time (``RunRecord``):

    stdout, stderr   the output of the command
    progress         its progress, if the command writes it: ``3`` or ``3 10``
    started          number, machine and birth of the leader process, written by itself
    exit             how the command ended, written by the leader
    checked          exists once the status was checked, so the handle had been stored
    cancelled        exists once the run was cancelled; no claim is responsible for it any more

The numbers of processes are reused, so a process is identified by its number and its birth. With ``/proc``, the birth
is the boot ID of the machine and the clock tick at which the process began. Without it, the birth is the second that
``ps`` reports.

Limitations: a process on another machine cannot be seen. From there, a run can be judged by its folder once it has
ended; before that, a check raises an error. If only the leader is killed, its command runs on unsupervised.
"""

import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from sluice.jobs.model.external_work import POLL_S, Stage, Status
from sluice.jobs.model.job import Job
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.policy import Policy
from sluice.jobs.processes.file_lock import FileLock
from sluice.jobs.runners.command.environment import command_environment
from sluice.jobs.runners.command.placeholders import fill_braces, values_of

#: Bytes at the end of an output that an error quotes.
TAIL_BYTES = 4096
_PROGRESS = re.compile(r"(\d{1,18})(?:\s+(\d{1,18}))?\s*")


class ProcessMark(StrEnum):
    CHECKED = "checked"
    CANCELLED = "cancelled"


class Leader(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Process that runs the command, and the folder of the run. As JSON it is the handle."""

    folder: str
    host: str
    pid: int
    born: str

    @property
    def handle(self) -> JSON:
        return msgspec.to_builtins(self)

    @classmethod
    def of(cls, handle: Any) -> "Leader":
        """Return the leader of a handle. ValueError if the handle was not created here."""
        try:
            return msgspec.convert(handle, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"{handle!r} is no handle of a process: {error}") from None


class RunRecord:
    """Contents of the folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stdout = folder / "stdout"
        self.stderr = folder / "stderr"
        self.progress_file = folder / "progress"

    @property
    def leader(self) -> Leader | None:
        """The leader process, or None if no process has ever started here."""
        text = _text(self.folder / "started")
        if text is None:
            return None
        first, _, told = text.partition("\n")
        pid, _, host = first.partition(" ")
        return Leader(folder=str(self.folder), host=host, pid=int(pid), born=read_birth(told) or "")

    @property
    def exit_code(self) -> int | None:
        """The exit code of the shell, above 128 for a signal. None if the command has not ended by itself."""
        text = _text(self.folder / "exit")
        return None if text is None else int(text)

    @property
    def progress(self) -> tuple[int, int | None] | None:
        """The progress. None if the file is missing or a line is incomplete."""
        found = _PROGRESS.fullmatch((_text(self.progress_file) or "").strip())
        return None if found is None else (int(found[1]), None if found[2] is None else int(found[2]))

    def mark(self, mark: ProcessMark) -> None:
        """Set a mark. FileNotFoundError if the folder does not exist."""
        (self.folder / mark).touch(mode=0o600)

    def is_marked(self, mark: ProcessMark) -> bool:
        return (self.folder / mark).exists()


def tail(path: Path) -> str:
    """Return the end of an output, from the beginning of a line."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            end = file.read(TAIL_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return (end if size <= TAIL_BYTES else end.partition("\n")[2] or end).strip()


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None


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


#: Default folder of the runs, below the working folder of the worker.
FOLDER = ".sluice/processes"
#: Default seconds between SIGTERM and SIGKILL.
GRACE_S = 10.0
#: Seconds to wait for a killed process (a dead network disk may block it).
REAP_S = 10.0
#: Environment variable with the file to which a command may write its progress.
PROGRESS = "SLUICE_PROGRESS"

#: Script of the leader. Its stdin is the job's lock. Signals are trapped, because the command would inherit ignored
#: ones, and only just before the command starts. When the command has ended, the script kills all remaining processes
#: of its group, including itself.
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
    """Base class of job managers that run a command as a separate process. Subclasses define the command and its
    folders.
    """

    #: Words of the command. Placeholders have the same values as in a ``bash_cmd``; each value stays within its word.
    command: Sequence[str] = ()
    env: Mapping[str, str] = MappingProxyType({})
    env_from_os: Sequence[str] = ()
    cwd: str | None = None
    folder: str = FOLDER
    grace_s: float = GRACE_S
    poll_s: float = POLL_S

    def argv(self, job: Job, folder: Path) -> Sequence[str]:  # noqa: ARG002  # Overriding methods need it.
        """Return the words of the command for this job. ``folder`` belongs to this run and may hold files that it
        needs.
        """
        if isinstance(self.command, str) or not self.command:
            raise ValueError(f"{type(self).__name__}.command is {self.command!r}; it takes a list of words")
        values = values_of(job.claimed)
        return [fill_braces(word, values) for word in self.command]

    def environment(self, job: Job) -> Mapping[str, str]:
        """Return the environment of the command: the same as for a ``bash_cmd``."""
        return command_environment(job.claimed, self._policy, os.environ)

    def run(self, job: Job) -> JSON:
        place = Path(self.folder).absolute() / job.token
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(place) as lock:
            standing = self._standing(place)
            if standing is not None:
                job.log.info("found the work that an earlier claim started, in %s", standing.folder)
                return standing.handle
            record = self._start(job, place, lock)
        with _locked(place):  # The leader has released it: it has recorded its identity, or is dead.
            leader = record.leader
        if leader is None:
            raise OSError(f"the command could not be started: {tail(record.stderr) or 'its shell died'}")
        job.log.info("its output is in %s", record.folder)
        return leader.handle

    def check(self, handle: Any) -> Status:
        leader = Leader.of(handle)
        record = self._record(leader)
        record.mark(ProcessMark.CHECKED)
        alive = record.exit_code is None and _is_alive(leader)
        code = record.exit_code  # Read after that, so that a run that has just ended has one.
        if code is None and alive:
            return Status(Stage.RUNNING.value, progress=record.progress)
        if code == 0:
            return Status(Stage.SUCCEEDED.value, tail(record.stdout), record.progress)
        return Status(
            Stage.FAILED.value, f"{_in_words(code)}\n{tail(record.stderr)}".strip(), record.progress
        )

    def cancel(self, handle: Any) -> None:
        leader = Leader.of(handle)
        record = RunRecord(Path(leader.folder))
        with suppress(FileNotFoundError):  # Its folder is gone; the process may still exist.
            record.mark(ProcessMark.CANCELLED)
        if record.exit_code is None and _is_alive(leader):
            _end(leader, self.grace_s)

    @property
    def _policy(self) -> Policy:
        return Policy(env=dict(self.env), env_from_os=tuple(self.env_from_os))

    def _record(self, leader: Leader) -> RunRecord:
        """Return the run's folder. LookupError if the folder is missing or belongs to another run by now."""
        record = RunRecord(Path(leader.folder))
        if record.leader != leader:
            raise LookupError(f"there is no record of it in {leader.folder} on {socket.gethostname()}")
        return record

    def _standing(self, place: Path) -> Leader | None:
        """Return the current run under the token, or None if it is over."""
        record = RunRecord(max(_runs(place), key=lambda run: int(run.name), default=place / "0"))
        leader = record.leader
        if leader is None:
            return None
        if record.is_marked(ProcessMark.CANCELLED):
            self.cancel(leader.handle)  # An earlier cancellation may have been interrupted.
            return None
        if record.is_marked(ProcessMark.CHECKED):
            return leader if self.check(leader.handle).stage is Stage.RUNNING else None
        return leader

    def _start(self, job: Job, place: Path, lock: FileLock) -> RunRecord:
        """Start a new run and remove the finished ones."""
        for run in _runs(place):
            shutil.rmtree(run)
        record = RunRecord(place / str(job.claim))
        record.folder.mkdir(mode=0o700)
        argv = [os.fspath(word) for word in self.argv(job, record.folder)]
        with record.stdout.open("wb") as stdout, record.stderr.open("wb") as stderr:
            leader = subprocess.Popen(
                ("/bin/sh", "-c", _LEADER, "sluice-leader", record.folder, socket.gethostname(), *argv),
                stdin=lock.fd,
                stdout=stdout,
                stderr=stderr,
                cwd=self.cwd,
                env={**self.environment(job), PROGRESS: str(record.progress_file)},
                start_new_session=True,
            )
        # The process that started it must reap it, even if another worker is responsible for the work by then.
        threading.Thread(target=leader.wait, name=f"reaper-{leader.pid}", daemon=True).start()
        return record


@contextmanager
def _locked(place: Path) -> Iterator[FileLock]:
    """Hold the job's lock. It is never released explicitly, but when the last process that has it open closes it."""
    with closing(FileLock(place / "lock")) as lock:
        lock.wait_exclusive()
        yield lock


def _runs(place: Path) -> list[Path]:
    return [entry for entry in place.iterdir() if entry.name.isdecimal()]


def _is_alive(leader: Leader) -> bool:
    """Return whether the leader is alive. OSError if this machine cannot determine it."""
    here = socket.gethostname()
    if leader.host != here:
        raise OSError(
            errno.EREMOTE,
            f"process {leader.pid} was started on {leader.host} and cannot be seen from {here}; if that machine is"
            f" gone for good, remove {leader.folder}",
        )
    return birth_of(leader.pid) == leader.born


def _end(leader: Leader, grace_s: float) -> None:
    """Send SIGTERM to the group, then SIGKILL. TimeoutError if the kernel does not end it."""
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
    raise TimeoutError(f"process {leader.pid} on {leader.host} did not end, although it was killed")


def _in_words(code: int | None) -> str:
    if code is None:
        return "It was killed, or its machine went down, before its exit code was recorded."
    try:
        return f"exited with {code}, as if by {signal.Signals(code - 128).name}"
    except ValueError:
        return f"exited with {code}"
