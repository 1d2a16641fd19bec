"""Definitions that a process works by, in a form that can be compared with those of other processes."""

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.catalogue.definitions import Catalogue

#: 64 bits, enough to tell versions of one app apart.
DIGEST_CHARACTERS = 16


class KnownDefinitions(Struct, frozen=True, kw_only=True):
    """``apps`` are digests of what each app does, by name. Processes may have different sources, so only apps that
    both know can be compared. ``problem`` is why a change was not taken up."""

    apps: Mapping[str, str]
    problem: str | None = None

    @property
    def digest(self) -> str:
        """The same for two processes exactly if their apps are."""
        text = "\n".join(f"{name} {digest}" for name, digest in sorted(self.apps.items()))
        return hashlib.blake2b(text.encode(), digest_size=DIGEST_CHARACTERS // 2).hexdigest()


def known(catalogue: Catalogue, problem: str | None = None) -> KnownDefinitions:
    return KnownDefinitions(
        apps={name: app.digest[:DIGEST_CHARACTERS] for name, app in catalogue.items()}, problem=problem
    )
