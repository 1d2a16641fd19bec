"""Process group of a run: its start, its pipes, its supervision and its end.

Every command, program and isolated function of a job is started here. Invariants:

- The command leads a session and group of its own, without a terminal. Its stdin is empty or a file of the caller. The
  whole group ends with the run: processes that the command left behind in it are killed when the command exits.
- The worker's death ends the group. A *guard*, a shell of a few hundred kilobytes, has a session of its own. It reads a
  pipe of which only the worker holds the other end. At end-of-file it kills the group. There is no gap: the process
  that will become the command writes its number into that pipe itself and holds the end until it has. So a worker that
  dies at any moment leaves either no process or a process that the guard knows. The guard is not part of the command: a
  watching thread would need the command's GIL, and a watching child would be found by the command's own ``wait``.
  PR_SET_PDEATHSIG is no alternative because it follows threads, not processes.
- The leader is not reaped before the guard has ended and the last signal is sent. Until then the leader's number, which
  is also the group's, cannot belong to another process.
- Output is read as it arrives (``Pipes``) and kept as an excerpt. A grandchild that holds a pipe open delays nothing.

Limitations: a process that creates a new session has left the group and is not found. The exception is a command that
is kept together: a supervisor process replaces the guard, and no process can leave
(``jobs.runners.process.supervised``). A process forked from the worker without exec (multiprocessing's ``fork``) also
holds the worker's end of the pipe. Then the guard waits until both have closed it.
"""

import math
import os
import selectors
import signal
import time
from collections.abc import Callable
from contextlib import closing

from msgspec import Struct

from sluice.jobs.model.job import Echo
from sluice.jobs.runners.output import Excerpt
from sluice.jobs.runners.process.group import ExitStatus, ProcessCommand, ProcessGroup
from sluice.jobs.runners.process.supervised import KeptGroup
from sluice.jobs.runners.stop_signal import Halt, Limits

_CHUNK_BYTES = 64 * 1024
#: Maximum number of reads after the end. A pipe holds less, so only a writer outside the group can reach it.
_REST_CHUNKS = 64

Sink = Callable[[bytes], None]


class Pipes:
    """Pipes that are each read into a sink until their end."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    @property
    def open(self) -> bool:
        return bool(self._selector.get_map())

    def add(self, descriptor: int, sink: Sink) -> None:
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ, sink)

    def drain(self, wait_s: float) -> bool:
        """Read one chunk of each pipe that has data, waiting for the first. Return False if none had any."""
        ready = self._selector.select(wait_s)
        for key, _ in ready:
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if chunk:
                key.data(chunk)
            else:
                self._selector.unregister(key.fd)
        return bool(ready)

    def rest(self) -> None:
        """Read the remaining data in the pipes after the group has ended."""
        for _ in range(_REST_CHUNKS):
            if not self.drain(0):
                return

    def close(self) -> None:
        self._selector.close()


#: Maximum seconds until a stop is noticed, or the exit of a command with pipes that stay open.
LOOK_S = 0.1
#: Maximum seconds between SIGTERM and SIGKILL for a group.
GRACE_S = 2.0
SILENCE = Echo()


class Exit(Struct, frozen=True, kw_only=True):
    """End of a run. With a ``halt`` it was ended from outside, and the status only shows how the end appeared.

    ``exceeded`` names a limit that the system does not enforce and for which the supervisor process ended the run.
    """

    status: ExitStatus
    halt: Halt | None
    stdout: Excerpt
    stderr: Excerpt
    exceeded: str | None = None


def run_group(
    command: ProcessCommand,
    limits: Limits,
    *,
    hear: Sink | None = None,
    echo: Echo = SILENCE,
    whole: bool = False,
    grace_s_max: float = math.inf,
) -> Exit:
    """Run the command to its end, or until a limit is reached.

    With ``hear``, the process gets a pipe for events; the last word of ``argv`` is its number. With ``whole``, all
    output is spooled, and the caller must ``close`` the excerpts. Raises OSError or ValueError if the command cannot be
    started, and nothing else.
    """
    stdout, stderr = Excerpt(echo.stdout, whole=whole), Excerpt(echo.stderr, whole=whole)
    if echo.texts is not None:
        echo.texts(stdout, stderr)
    halt = limits.reached()
    if halt is not None:
        return Exit(status=ExitStatus(), halt=halt, stdout=stdout, stderr=stderr)
    sinks = (stdout.add, stderr.add) if hear is None else (stdout.add, stderr.add, hear)
    kind = KeptGroup if command.kept or command.allowance else ProcessGroup
    with closing(kind(command, tells=hear is not None)) as group, closing(Pipes()) as pipes:
        for pipe, sink in zip(group.pipes, sinks, strict=True):
            pipes.add(pipe.fileno(), sink)
        halt = _watch(group, pipes, limits)
        if halt is not None:
            _end(group, pipes, min(GRACE_S, grace_s_max))
        status = group.kill()
        pipes.rest()
        exceeded = group.exceeded()
    return Exit(status=status, halt=halt, stdout=stdout, stderr=stderr, exceeded=exceeded)


def _watch(group: ProcessGroup | KeptGroup, pipes: Pipes, limits: Limits) -> Halt | None:
    """Read until the leader has exited, or return the limit that was reached first."""
    pause_s = 0.001
    while not group.exited():
        halt = limits.reached()
        if halt is not None:
            return halt
        pipes.drain(limits.within_s(LOOK_S if pipes.open else pause_s))
        pause_s = 0.001 if pipes.open else min(2 * pause_s, LOOK_S)
    return None


def _end(group: ProcessGroup | KeptGroup, pipes: Pipes, grace_s: float) -> None:
    """Send SIGTERM to the group and wait for the grace period. Open pipes show that other processes than the leader
    live.
    """
    group.signal(signal.SIGTERM)
    until = time.monotonic() + grace_s
    while (pipes.open or not group.exited()) and time.monotonic() < until:
        pipes.drain(0.01)
