"""Definitions that a process uses, in a form that can be compared between processes."""

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.catalogue.definitions import Catalogue

#: Characters of a digest: 64 bits, enough to distinguish versions of one app.
DIGEST_CHARACTERS = 16


class KnownDefinitions(Struct, frozen=True, kw_only=True):
    """Definitions that a process uses.

    ``apps`` are digests of each app's effect, by name. Processes may have different sources, so only apps that both
    know can be compared. ``problem`` is the reason why a change was not loaded.
    """

    apps: Mapping[str, str]
    problem: str | None = None

    @property
    def digest(self) -> str:
        """Digest of all apps. Two processes have the same one exactly if their apps are equal."""
        text = "\n".join(f"{name} {digest}" for name, digest in sorted(self.apps.items()))
        return hashlib.blake2b(text.encode(), digest_size=DIGEST_CHARACTERS // 2).hexdigest()


def known(catalogue: Catalogue, problem: str | None = None) -> KnownDefinitions:
    return KnownDefinitions(
        apps={name: app.digest[:DIGEST_CHARACTERS] for name, app in catalogue.items()}, problem=problem
    )
