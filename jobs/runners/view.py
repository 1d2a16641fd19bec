"""File system that a process in bubblewrap sees, as arguments of ``bwrap``. Later arguments override earlier ones.

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
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sluice.jobs.fence import Fence

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
    """Yield the arguments. ``writes`` are always visible and writable; ``reads`` are visible even in a private
    folder.
    """
    writable = [Path(each) for each in fence.writable]
    wide = [path for path in writable if _holds_own(path)]
    hidden = list(_hidden(fence))
    yield from ("--ro-bind", "/", "/")
    for path in wide:
        yield from _writable(path)
    yield from _own()
    yield from _shown((*reads, *((RESOLVER,) if fence.network else ())))
    laid = [
        *((path, _writable(path)) for path in writable if path not in wide),
        *((path, _nothing_at(path)) for path in hidden),
    ]
    for _, each in sorted(laid, key=lambda pair: len(pair[0].parts)):
        yield from each
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
