"""Root's folder for what another account must reach and cannot where it is."""

import os
from pathlib import Path

from sluice.ledger.embedded.errors import EmbeddedUnavailable


def opened(shelter: Path) -> Path:
    """The shelter, made when missing: others may pass through it, and not list it. It must be ours."""
    if not shelter.exists():
        shelter.mkdir(parents=True)
        shelter.chmod(0o711)  # Not by mkdir, which heeds the umask.
    if shelter.stat().st_uid != os.geteuid():
        raise EmbeddedUnavailable(
            f"{shelter} is not ours, so nothing can be kept in it. Give it to uid {os.geteuid()}, or remove "
            "it, and try again."
        )
    return shelter
