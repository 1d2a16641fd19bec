"""Isolation of a job's processes from the rest of the machine.

Guarantees at the level ``bubblewrap`` (Linux only; ``bwrap`` 0.8 or newer, and user namespaces):

- Only the paths that the runner and the operator name can be written to, and a ``/tmp`` that is removed after the run
  (``view``).
- No other process can be seen or signalled. No network can be reached unless the operator allows it. Sockets in
  ``/run`` cannot be reached because some services there can do more than we allow (Docker's socket bypasses all of
  this).
- ``hidden`` paths are missing: the worker's own settings, its embedded ledger, keys in the home of its user.
- Everything ends with the run, and with the worker: the processes have a PID namespace of their own, and its end kills
  them. The supervisor process stays outside, so none of them can kill it.
- A definition or a submission has no influence on how bubblewrap itself is started, its environment included.
- The sandbox is never omitted silently. If it is not available, the command is not started, and the job's error gives
  the reason.

Not guaranteed: files that are not hidden can be read. The kernel is the same, with all of its calls. If the worker is
root, the kernel treats processes inside as root when it checks the owner of a file, so only mounts protect files of
root. Files in ``/tmp`` use memory. Functions in threads, sagas and managers are part of the worker and have no sandbox.
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

#: Variables that load other code into a program. The C library ignores the same ones in a program that runs with its
#: owner's rights.
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
    """Sandbox of a worker's commands. Its availability is tested once, and again after a failed test."""

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self._works = False

    def around(self, command: Command, *, writes: Sequence[str] = (), reads: Sequence[str] = ()) -> Command:
        """Return the command in the sandbox. It may write below ``writes``, and sees ``reads`` even in a private
        folder. ValueError, with a sentence, if the required sandbox is not available.
        """
        if self.fence.level is Level.OFF:
            return replace(command, privileged=True)
        if self.fence.level is Level.LIMITS:
            return command
        why = self.lack()
        if why is not None:
            raise ValueError(f"SLUICE_SANDBOX=bubblewrap is set, but this worker cannot use it: {why}")
        folder = os.path.abspath(command.cwd or ".")  # noqa: PTH100  # pathlib would keep the dots.
        env = {**command.env, **({"TMPDIR": view.PASSING[0]} if "TMPDIR" in command.env else {})}
        # Other variables are not passed as arguments, because every user can read those in the list of processes.
        obeyed = [word for name in filter(_is_obeyed, env) for word in ("--setenv", name, env[name])]
        words = (*self._words(writes=writes, reads=reads), *obeyed, "--chdir", folder, "--", *command.argv)
        outer = {name: text for name, text in env.items() if not _is_obeyed(name)}
        return replace(command, argv=(_bwrap() or "bwrap", *words), env=outer, kept=True, enclosed=True)

    def lack(self) -> str | None:
        """Return why the level's sandbox is not available, or None if it is."""
        if self.fence.level is not Level.BUBBLEWRAP or self._works:
            return None
        why = self._tried()
        self._works = why is None
        return why

    def _tried(self) -> str | None:
        if sys.platform != "linux":
            return "bubblewrap does not exist for this system"
        bwrap = _bwrap()
        if bwrap is None:
            return "the program bwrap is not installed (install the package bubblewrap)"
        trial = (bwrap, *self._words(), "--", "/bin/sh", "-c", ":")
        try:
            done = subprocess.run(
                trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_S, check=False, env={}
            )
        except subprocess.TimeoutExpired:
            return f"bwrap did not finish within {_TRIAL_S:g} s"
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
    """Return whether the system's loader obeys this variable. It would also do so in bubblewrap itself, before the
    sandbox exists, and a definition or a submission may set it.
    """
    return name.startswith(_LOADERS) or name in _LIBRARYS


def _bwrap() -> str | None:
    return shutil.which("bwrap")
