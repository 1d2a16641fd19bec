"""What a process in bubblewrap finds where: the words that lay the machine out for it, later ones over earlier ones.

What holds:

- The machine is there to be read only. Over it lie folders of the sandbox's own: devices, processes, an empty one for
  each where services have their sockets, and those for what is passing. Of these only the last can be written to.
- Nothing of the machine's lies over such a folder, nor is one shown whole. Below them there is of the machine's what
  the operator names, what a run itself writes to, and what no worker can do without: its own folder where that is
  below one for what is passing, where its functions are, and who looks up names. Where sockets are, files alone.
- Of two paths, one below the other, the lower has the last word, be it hidden or writable.
- No file of the kernel's can be written to. A worker that is root is the kernel's root inside too, though it has no
  right of root's there, and who writes below ``/proc/sys`` needs none. A list of what is dangerous would have to
  know every module; so all of ``/proc`` is read only, a process's words about itself included.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sluice.jobs.fence import Fence

_DEVICES: Final = "/dev"
_KERNEL: Final = "/proc"
#: One place by two names on nearly every machine; where it is two, both hold sockets.
SERVICES: Final = ("/run", "/var/run")
#: Of the private folders for what is passing: they are memory.
PASSING_BYTES: Final = 1 << 30
PASSING: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108  # These are the sandbox's own, not the machine's.
_OWN: Final = (_DEVICES, _KERNEL, *SERVICES, *PASSING)
#: In the home of the worker's user, where programs keep what lets them in elsewhere.
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
#: Names are looked up by what it says, where there is a network. It may be a link to a file beside sockets.
RESOLVER: Final = "/etc/resolv.conf"


def words(fence: Fence, *, writes: Sequence[str] = (), reads: Sequence[str] = ()) -> Iterator[str]:
    """``writes`` are there in any case, and can be written to; so are ``reads``, though they be in a private folder."""
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
    # Last, for until then places have to be made in them for what is below.
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
    """Hide what the kernel shows to root alone, of all memory and all processes."""
    for name in os.listdir(_KERNEL):  # noqa: PTH208  # pathlib is slow.
        # The folder of a process may be gone before it can be looked at.
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
    """A worker's folder that cannot be shown is there, and empty: commands begin in it."""
    here = str(Path.cwd())
    named = [os.path.abspath(each) for each in (here, *reads)]  # noqa: PTH100  # pathlib would follow no dots.
    for path in dict.fromkeys(name for each in named for name in (each, os.path.realpath(each))):
        if _can_be_shown(path):
            yield from ("--ro-bind-try", path, path)
        elif path == here and _is_below(Path(here), (_DEVICES, *SERVICES)):
            yield from ("--dir", here)


def _can_be_shown(path: str) -> bool:
    """Whether it lies in a private folder, and is neither such a folder of the machine's, nor holds one."""
    real = Path(os.path.realpath(path))
    if not _is_below(Path(path), (*_services(), *PASSING)):
        return False
    if _is_below(real, PASSING):
        return True
    return real.is_file() if _is_below(real, _OWN) else str(real) not in _OWN and not _holds_own(real)


def _is_below(path: Path, folders: Sequence[str]) -> bool:
    return any(Path(folder) in path.parents for folder in folders)


def _holds_own(path: Path) -> bool:
    """Whether a folder of the sandbox's own is below it, and it is none itself."""
    return str(path) not in _OWN and any(path in Path(own).parents for own in _OWN)


def _hidden(fence: Fence) -> Iterator[Path]:
    """Those that are there, by their real names: a way in by a link leads to the same place."""
    for text in dict.fromkeys((*fence.hidden, *_keyrings())):
        path = Path(os.path.realpath(text))
        if path.exists():
            yield path


def _keyrings() -> Iterator[str]:
    home = os.path.expanduser("~")  # noqa: PTH111  # It raises where there is no home; this does not.
    if home != "~":
        yield from (f"{home}/{each}" for each in KEYRINGS)


def _writable(path: Path) -> tuple[str, ...]:
    return ("--bind", str(path), str(path))


def _nothing_at(path: Path) -> tuple[str, ...]:
    return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", os.devnull, str(path))
