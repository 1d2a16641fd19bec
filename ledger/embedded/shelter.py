"""Root's folder for files that another account must reach but cannot reach in their usual place."""

import os
from pathlib import Path

from sluice.ledger.embedded.errors import EmbeddedUnavailable


def opened(shelter: Path) -> Path:
    """Return the shelter; create it if it is missing. Other accounts may pass through it but not list it. We must own
    it."""
    if not shelter.exists():
        shelter.mkdir(parents=True)
        shelter.chmod(0o711)  # Not by mkdir, which applies the umask.
    if shelter.stat().st_uid != os.geteuid():
        raise EmbeddedUnavailable(
            f"{shelter} belongs to another user, so nothing can be kept in it. "
            f"Give it to uid {os.geteuid()}, or remove it, and try again."
        )
    return shelter
