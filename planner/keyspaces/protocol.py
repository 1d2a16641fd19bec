"""Interface of a keyspace, as the walk uses it. Templates, chunks and partitions implement it."""

from collections.abc import Iterator
from typing import Protocol

from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import Gate
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State


class Keyspace(Protocol):
    """Way to key jobs. ``gates`` and ``children`` read one relation from its two ends, and are inverse wherever both
    are defined.

    All methods are pure functions of the catalogue. They raise ``BadKey`` for a key that does not fit its app.
    """

    def canonical(self, app: App, key: str) -> str:
        """Return the canonical spelling of this key."""
        ...

    def expand(self, app: App, submission: Submission) -> Iterator[str]:
        """Return the canonical keys that a submission requests; BadRequest if its options do not fit this keyspace."""
        ...

    def gates(self, app: App, key: str) -> tuple[Gate, ...]:
        """Return the gates of a job: its parents, by alternative. Empty for a job without dependencies."""
        ...

    def unmatched(self, app: App, key: str) -> bool:
        """Return whether the app has dependency groups and this key fits none of them."""
        ...

    def children(
        self, app: App, key: str, state: State | None = None, *, of: str | None = None
    ) -> Iterator[JobName]:
        """Return the jobs that have this one among their parents, in canonical order, each once.

        ``state`` limits them to jobs that need the parent in this state, ``of`` to the jobs of one app.
        """
        ...

    def passes(self, app: App, key: str) -> bool:
        """Return whether the job passes the app's own filter."""
        ...


class SituationalKeyspace:
    """Base of keyspaces in which a job's needs depend on the situation when it was planned. The needs are stored in the
    ledger. A job leads to no children except the jobs that were planned with it."""

    def gates(self, _app: App, _key: str) -> tuple[Gate, ...]:
        return ()

    def unmatched(self, _app: App, _key: str) -> bool:
        return False

    def children(
        self, _app: App, _key: str, _state: State | None = None, *, of: str | None = None
    ) -> Iterator[JobName]:
        del of
        return iter(())

    def passes(self, _app: App, _key: str) -> bool:
        return True
