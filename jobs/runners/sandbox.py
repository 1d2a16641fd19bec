"""What stands between a process of a job and the rest of the machine.

What holds where the level is ``bubblewrap`` (Linux alone; ``bwrap`` 0.8 or newer, and user namespaces):

- Nothing can be written but what the runner and the operator name, and a ``/tmp`` that is gone with the run (``view``).
- No other process can be seen or signalled, and no network reached, unless the operator says so; nor a socket in
  ``/run``, where those of services lie that would do more than we allow (Docker's is a way around all of this).
- What is ``hidden`` is not there: the worker's own settings, its embedded ledger, keys in the home of its user.
- All of it ends with the run, and with the worker: the processes have a number space of their own, whose end is
  theirs. The keeper stays outside, so none of them can kill it.
- What a definition or a submission says has no part in how bubblewrap itself is started, its environment included.
- It is never left out in silence. Where it cannot be had the command is not started, and the job's error says why.

What does not: what is not hidden can be read. The kernel is the same, with all of its calls; where the worker is root,
it takes what is inside for root wherever it asks who owns a file, so that mounts alone keep it from those of root.
What is in ``/tmp`` takes memory. Functions in threads, sagas and managers are the worker itself, and no fence is
around them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from sluice.jobs.fence import Fence, Level
from sluice.jobs.runners import view
from sluice.jobs.runners.group import Command

_TRIAL_S: Final = 10.0
_ALONE: Final = (
    "--unshare-user",
    "--disable-userns",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
)

#: By these other code gets into a program than its own. They are those that the C library leaves out by itself of what
#: lends its owner's rights.
_LOADERS: Final = ("LD_", "MALLOC_")
_LIBRARYS: Final = frozenset(
    {
        "GCONV_PATH",
        "GETCONF_DIR",
        "GLIBC_TUNABLES",
        "HOSTALIASES",
        "LOCALDOMAIN",
        "LOCPATH",
        "NIS_PATH",
        "NLSPATH",
        "RESOLV_HOST_CONF",
        "RES_OPTIONS",
        "TZDIR",
    }
)


class Sandbox:
    """Makes commands of a worker what its fence says. Whether that can be had is tried once, and again after a no."""

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self._works = False

    def around(self, command: Command, *, writes: Sequence[str] = (), reads: Sequence[str] = ()) -> Command:
        """The command, fenced. It may write below ``writes``, and finds ``reads`` though they be in a private folder.
        ValueError, in a sentence, where it cannot be fenced as it has to be."""
        if self.fence.level is Level.OFF:
            return replace(command, privileged=True)
        if self.fence.level is Level.LIMITS:
            return command
        why = self.lack()
        if why is not None:
            raise ValueError(f"SLUICE_SANDBOX=bubblewrap, which this worker cannot do: {why}")
        folder = os.path.abspath(command.cwd or ".")  # noqa: PTH100  # pathlib would follow no dots.
        env = {**command.env, **({"TMPDIR": view.PASSING[0]} if "TMPDIR" in command.env else {})}
        # All others are left out of the words, which the title of the process shows to everybody.
        obeyed = [word for name in filter(_is_obeyed, env) for word in ("--setenv", name, env[name])]
        words = (*self._words(writes=writes, reads=reads), *obeyed, "--chdir", folder, "--", *command.argv)
        outer = {name: text for name, text in env.items() if not _is_obeyed(name)}
        return replace(command, argv=(_bwrap() or "bwrap", *words), env=outer, kept=True, enclosed=True)

    def lack(self) -> str | None:
        """Why no command can be fenced as the level says; None where each can."""
        if self.fence.level is not Level.BUBBLEWRAP or self._works:
            return None
        why = self._tried()
        self._works = why is None
        return why

    def _tried(self) -> str | None:
        if sys.platform != "linux":
            return "there is no bubblewrap for this system"
        bwrap = _bwrap()
        if bwrap is None:
            return "the program bwrap is not installed (the package is called bubblewrap)"
        trial = (bwrap, *self._words(), "--", "/bin/sh", "-c", ":")
        try:
            done = subprocess.run(
                trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_S, check=False, env={}
            )
        except subprocess.TimeoutExpired:
            return f"bwrap did nothing for {_TRIAL_S:g} s"
        except OSError as error:
            return f"bwrap cannot be started: {error.strerror}"
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return None if done.returncode == 0 else (said[0] if said else f"bwrap exited with {done.returncode}")

    def _words(self, *, writes: Sequence[str] = (), reads: Sequence[str] = ()) -> Iterator[str]:
        yield from _ALONE
        if not self.fence.network:
            yield "--unshare-net"
        yield from view.words(self.fence, writes=writes, reads=reads)


def _is_obeyed(name: str) -> bool:
    """Whether the system's loader goes by this variable. It would do so in bubblewrap itself, before there is a fence;
    and a definition, or a submission, may say what it is."""
    return name.startswith(_LOADERS) or name in _LIBRARYS


def _bwrap() -> str | None:
    return shutil.which("bwrap")
