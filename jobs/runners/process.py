"""One process group: how it is started, listened to, watched and ended. All children of a worker go this way.

What holds:

- The command leads a session and group of its own, without a terminal and with an empty stdin. All of
  the group ends with the run: whatever the command left behind in it is killed when the command exits.
- The worker's death ends the group. A *guard*, a shell of a few hundred kilobytes in a session of its own,
  reads a pipe whose other end only the worker holds; at end-of-file it kills the group. There is no gap:
  the process that will become the command writes its number into that pipe itself and holds the end until
  it has, so a worker that dies at any moment leaves either no process or one that the guard knows.
  The guard is not part of the command (a watching thread would need the command's GIL, a watching child
  would be found by the command's own ``wait``), and PR_SET_PDEATHSIG follows threads, not processes.
- The leader is not reaped before the guard is gone and the last signal is sent: until then its number,
  which is also the group's, cannot be anybody else's.
- Output is read as it comes and kept as an excerpt; a grandchild that holds a pipe open delays nothing.

What it cannot do: a process that makes itself a new session has left the group, and is found by nobody, unless the
command is kept together: then a keeper takes the place of the guard, and nobody gets away (``kept``). A process
forked from the worker without exec (multiprocessing's ``fork``) holds the worker's end of the pipe as well, and the
guard waits for both.
"""

import math
import signal
import time
from contextlib import closing

from msgspec import Struct

from sluice.jobs.job import Echo
from sluice.jobs.runners.excerpt import Excerpt
from sluice.jobs.runners.group import Command, Group, Status
from sluice.jobs.runners.kept import KeptGroup
from sluice.jobs.runners.limits import Halt, Limits
from sluice.jobs.runners.pipes import Pipes, Sink

#: A stop, or the exit of a command whose pipes stay open, is noticed within this time.
LOOK_S = 0.1
#: What a group has between SIGTERM and SIGKILL, at most.
GRACE_S = 2.0
SILENCE = Echo()


class Exit(Struct, frozen=True, kw_only=True):
    """``halt`` says that it was ended from outside; the status is then only what the end looked like.

    ``exceeded`` is the limit, by its word, for which it was ended where the system has none of that kind.
    """

    status: Status
    halt: Halt | None
    stdout: Excerpt
    stderr: Excerpt
    exceeded: str | None = None


def run_group(
    command: Command,
    limits: Limits,
    *,
    hear: Sink | None = None,
    echo: Echo = SILENCE,
    whole: bool = False,
    grace_s_max: float = math.inf,
) -> Exit:
    """Run the command to its end, or to its limits.

    With ``hear`` the process gets a pipe to tell us things by; its number is the last word of ``argv``. With ``whole``
    all that it prints is spooled, and the caller has the excerpts to ``close``.
    Raises OSError or ValueError where it cannot be started, and nothing else.
    """
    stdout, stderr = Excerpt(echo.stdout, whole=whole), Excerpt(echo.stderr, whole=whole)
    halt = limits.reached()
    if halt is not None:
        return Exit(status=Status(), halt=halt, stdout=stdout, stderr=stderr)
    sinks = (stdout.add, stderr.add) if hear is None else (stdout.add, stderr.add, hear)
    kind = KeptGroup if command.kept or command.allowance else Group
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


def _watch(group: Group | KeptGroup, pipes: Pipes, limits: Limits) -> Halt | None:
    """Read until the leader has exited, or return the limit that was reached first."""
    pause_s = 0.001
    while not group.exited():
        halt = limits.reached()
        if halt is not None:
            return halt
        pipes.drain(limits.within_s(LOOK_S if pipes.open else pause_s))
        pause_s = 0.001 if pipes.open else min(2 * pause_s, LOOK_S)
    return None


def _end(group: Group | KeptGroup, pipes: Pipes, grace_s: float) -> None:
    """Ask the group to end, and wait out the grace. Open pipes tell that others than the leader live."""
    group.signal(signal.SIGTERM)
    until = time.monotonic() + grace_s
    while (pipes.open or not group.exited()) and time.monotonic() < until:
        pipes.drain(0.01)
