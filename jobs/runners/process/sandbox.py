"""Sandbox of a job's processes, and the file system that they see.

A ``Sandbox`` isolates a job's processes from the rest of the machine. Guarantees at the level ``bubblewrap`` (Linux
only; ``bwrap`` 0.8 or newer, and user namespaces):

- Only the paths that the runner and the operator name can be written to, and a ``/tmp`` that is removed after the run.
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
root, the kernel treats processes inside as root when it checks the owner of a file. So only mounts protect files of
root. Files in ``/tmp`` use memory. Functions in threads, sagas and managers are part of the worker and have no sandbox.

``words`` yields the file system that a process sees, as arguments of ``bwrap``. Later arguments override earlier ones.
Invariants:

- The machine's files are read-only. The sandbox puts its own folders over them: devices, processes, an empty folder for
  each folder of service sockets, and temporary folders. Of these only the temporary folders can be written to.
- No mount of the machine covers such a folder, and no such folder of the machine is shown whole. Below them the sandbox
  shows the paths that the operator names, the paths that a run writes to, and the paths that every worker needs. These
  are its own folder if that is below a temporary folder, the folders of its functions, and the resolver's
  configuration. Below the folders of sockets it shows only files.
- Of two paths, one below the other, the lower one decides, whether it is hidden or writable.
- No file of the kernel can be written to. A worker that is root is also root for the kernel inside, though without any
  of root's capabilities, and writing below ``/proc/sys`` needs none. A list of dangerous files would have to cover
  every kernel module. So all of ``/proc`` is read-only, including a process's entries about itself.
"""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.runners.process.group import ProcessCommand

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

    def around(
        self, command: ProcessCommand, *, writes: Sequence[str] = (), reads: Sequence[str] = ()
    ) -> ProcessCommand:
        """Return the command in the sandbox. It may write below ``writes``, and sees ``reads`` even in a private
        folder. ValueError, with a sentence, if the required sandbox is not available.
        """
        if self.fence.level is SandboxLevel.OFF:
            return replace(command, privileged=True)
        if self.fence.level is SandboxLevel.LIMITS:
            return command
        why = self.lack()
        if why is not None:
            raise ValueError(f"SLUICE_SANDBOX=bubblewrap is set, but this worker cannot use it: {why}")
        folder = os.path.abspath(command.cwd or ".")  # noqa: PTH100  # pathlib would keep the dots.
        env = {**command.env, **({"TMPDIR": PASSING[0]} if "TMPDIR" in command.env else {})}
        # Other variables are not passed as arguments, because every user can read those in the list of processes.
        obeyed = [word for name in filter(_is_obeyed, env) for word in ("--setenv", name, env[name])]
        words = (*self._words(writes=writes, reads=reads), *obeyed, "--chdir", folder, "--", *command.argv)
        outer = {name: text for name, text in env.items() if not _is_obeyed(name)}
        return replace(command, argv=(_bwrap() or "bwrap", *words), env=outer, kept=True, enclosed=True)

    def lack(self) -> str | None:
        """Return why the level's sandbox is not available, or None if it is."""
        if self.fence.level is not SandboxLevel.BUBBLEWRAP or self._works:
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
        yield from words(self.fence, writes=writes, reads=reads)


def _is_obeyed(name: str) -> bool:
    """Return whether the system's loader obeys this variable. It would also do so in bubblewrap itself, before the
    sandbox exists, and a definition or a submission may set it.
    """
    return name.startswith(_LOADERS) or name in _LIBRARYS


def _bwrap() -> str | None:
    return shutil.which("bwrap")


_DEVICES: Final = "/dev"
_KERNEL: Final = "/proc"
#: Folders of service sockets. On nearly every machine both names mean one folder; otherwise both hold sockets.
SERVICES: Final = ("/run", "/var/run")
#: Maximum size in bytes of each private temporary folder (1 GiB). They are in memory.
PASSING_BYTES: Final = 1 << 30
PASSING: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108  # The sandbox's own folders, not the machine's.
_OWN: Final = (_DEVICES, _KERNEL, *SERVICES, *PASSING)
#: Paths in the home of the worker's user in which programs keep credentials.
KEYRINGS: Final = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".boto",
    ".s3cfg",
    ".config",
    ".docker",
    ".kube",
    ".terraform.d",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".subversion/auth",
    ".my.cnf",
    ".mylogin.cnf",
    ".pgpass",
    ".pg_service.conf",
    ".postgresql/postgresql.key",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".python_history",
)
#: Configuration of the name resolver, needed with a network. It may be a link to a file beside sockets.
RESOLVER: Final = "/etc/resolv.conf"


def words(fence: Fence, *, writes: Sequence[str] = (), reads: Sequence[str] = ()) -> Iterator[str]:
    """Yield the arguments of ``bwrap``. ``writes`` are always visible and writable; ``reads`` are visible even in a
    private folder.
    """
    writable = [Path(each) for each in fence.writable]
    wide = [path for path in writable if _holds_own(path)]
    hidden = list(_hidden(fence))
    yield from ("--ro-bind", "/", "/")
    for path in wide:
        yield from _writable(path)
    yield from _own()
    yield from _shown((*reads, *((RESOLVER,) if fence.network else ())))
    yield from _upper_first([path for path in writable if path not in wide], hidden)
    for folder in writes:
        yield from _writable(Path(folder))
    # Last, because until then mount points are created in these folders for the paths below.
    closed = (Path(each) for each in (_DEVICES, *_services()))
    for path in (*(each for each in closed if each not in writable), *filter(Path.is_dir, hidden)):
        yield from ("--remount-ro", str(path))


def _own() -> Iterator[str]:
    yield from ("--dev", _DEVICES, "--proc", _KERNEL, *_roots(), "--remount-ro", _KERNEL)
    for folder in _services():
        yield from ("--tmpfs", folder)
    for folder in PASSING:
        yield from ("--size", str(PASSING_BYTES), "--tmpfs", folder)


def _roots() -> Iterator[str]:
    """Yield mounts that hide entries of ``/proc`` that only root may read, for example all memory."""
    for name in os.listdir(_KERNEL):  # noqa: PTH208  # pathlib is too slow.
        # The folder of a process may disappear before it is read.
        if not name.isdecimal():
            path = f"{_KERNEL}/{name}"
            mode = os.lstat(path).st_mode
            is_file_for_all = stat.S_ISREG(mode) and mode & stat.S_IROTH
            if not (stat.S_ISDIR(mode) or stat.S_ISLNK(mode) or is_file_for_all):
                yield from ("--ro-bind", os.devnull, path)


def _services() -> tuple[str, ...]:
    first, *others = SERVICES
    return (first, *(each for each in others if Path(each).is_dir() and not Path(each).is_symlink()))


def _upper_first(writable: Sequence[Path], hidden: Sequence[Path]) -> Iterator[str]:
    """Yield mounts of these paths. Those of lower paths come later, so that they override the mounts above them."""
    mounts = [
        *((path, _writable(path)) for path in writable),
        *((path, _nothing_at(path)) for path in hidden),
    ]
    for _, mount in sorted(mounts, key=lambda pair: len(pair[0].parts)):
        yield from mount


def _shown(reads: Sequence[str]) -> Iterator[str]:
    """Yield mounts of paths in private folders. A worker's folder that cannot be shown is created empty, because
    commands start in it.
    """
    here = str(Path.cwd())
    named = [os.path.abspath(each) for each in (here, *reads)]  # noqa: PTH100  # pathlib would keep the dots.
    for path in dict.fromkeys(name for each in named for name in (each, os.path.realpath(each))):
        if _can_be_shown(path):
            yield from ("--ro-bind-try", path, path)
        elif path == here and _is_below(Path(here), (_DEVICES, *SERVICES)):
            yield from ("--dir", here)


def _can_be_shown(path: str) -> bool:
    """Return whether the path is in a private folder, and neither is nor contains such a folder of the machine."""
    real = Path(os.path.realpath(path))
    if not _is_below(Path(path), (*_services(), *PASSING)):
        return False
    if _is_below(real, PASSING):
        return True
    return real.is_file() if _is_below(real, _OWN) else str(real) not in _OWN and not _holds_own(real)


def _is_below(path: Path, folders: Sequence[str]) -> bool:
    return any(Path(folder) in path.parents for folder in folders)


def _holds_own(path: Path) -> bool:
    """Return whether the path contains a folder of the sandbox and is none itself."""
    return str(path) not in _OWN and any(path in Path(own).parents for own in _OWN)


def _hidden(fence: Fence) -> Iterator[Path]:
    """Yield the existing hidden paths by their real names, because a link to them leads to the same place."""
    for text in dict.fromkeys((*fence.hidden, *_keyrings())):
        path = Path(os.path.realpath(text))
        if path.exists():
            yield path


def _keyrings() -> Iterator[str]:
    home = os.path.expanduser("~")  # noqa: PTH111  # It raises without a home; this does not.
    if home != "~":
        yield from (f"{home}/{each}" for each in KEYRINGS)


def _writable(path: Path) -> tuple[str, ...]:
    return ("--bind", str(path), str(path))


def _nothing_at(path: Path) -> tuple[str, ...]:
    return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", os.devnull, str(path))
