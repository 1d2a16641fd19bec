"""Dynamic fan-out: jobs that a running job adds to its submission (``job.expand``).

The worker checks each request while the job runs, so that a wrong one is an error of the function. An ``Expansion`` has
canonical keys. It is recorded together with the success of the job, and planned after that.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, json

from sluice.jobs.model.dependency import When
from sluice.jobs.model.names import JobName

#: Maximum number of jobs that one job may add.
PARTS_MAX = 100_000


class PartKeys(Struct, frozen=True):
    """Jobs of one app, as a function names them: by whole keys, or by identifiers, of which the missing ones have the
    values of the running job."""

    app: str
    keys: Sequence[str | Mapping[str, str]]


class ExpansionRequest(Struct, frozen=True):
    """Call of ``job.expand``. The job of ``then`` needs all ``parts`` in the state ``when``."""

    parts: PartKeys
    then: PartKeys | None = None
    when: When = "succeeded"


class Expansion(Struct, frozen=True):
    """Jobs of an app that must run after the expanding job, and a job that needs all of them."""

    app: str
    keys: tuple[str, ...]
    then: JobName | None = None
    when: When = "succeeded"

    @property
    def parts(self) -> tuple[JobName, ...]:
        return tuple(JobName(self.app, key) for key in self.keys)


def encoded(expansions: Sequence[Expansion]) -> str | None:
    """Return expansions as JSON, or None if there are none."""
    return json.encode(expansions).decode() if expansions else None


def decoded(text: str) -> list[Expansion]:
    """Return the expansions in a text from ``encoded``."""
    return json.decode(text, type=list[Expansion])
