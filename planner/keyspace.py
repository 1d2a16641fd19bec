"""What the walk needs to know of a way to key jobs. Templates are one; chunks and partitions are others."""

from collections.abc import Iterator
from typing import Protocol

from sluice.jobs.app import App
from sluice.jobs.gate import Gate
from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.jobs.submission import Submission


class Keyspace(Protocol):
    """``parents`` and ``children`` read one relation from its two ends and are inverse wherever both are defined.

    All are pure functions of the catalogue. They raise ``BadKey`` for a key that does not fit its app.
    """

    def canonical(self, app: App, key: str) -> str:
        """The one spelling of this key."""
        ...

    def expand(self, app: App, submission: Submission) -> Iterator[str]:
        """The canonical keys a submission asks for; BadRequest where its words do not fit this keyspace."""
        ...

    def gates(self, app: App, key: str) -> tuple[Gate, ...]:
        """The parents of a job, by alternative; empty for a job that needs nobody."""
        ...

    def unmatched(self, app: App, key: str) -> bool:
        """Whether the app has dependency groups and this key fits none of them."""
        ...

    def children(
        self, app: App, key: str, state: State | None = None, *, of: str | None = None
    ) -> Iterator[JobName]:
        """The jobs that name this one as a parent, in canonical order, each once.

        Given its state, only those that need it to be in it; given an app, only those of that.
        """
        ...

    def passes(self, app: App, key: str) -> bool:
        """Whether the job passes the app's own filter."""
        ...


class Planned:
    """What keyspaces have in common in which a job's needs depend on what there was when it was planned: they stand in
    the ledger, and nobody follows from it who was not planned with it."""

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
