"""The journal of one flight, as its run sees it."""

from typing import Protocol

from sluice.jobs.sagas.entry import Entry, Heard, Log


class Journal(Protocol):
    """Nothing here raises: where the ledger is away, it is asked until it answers or the claim cannot be trusted."""

    def read(self) -> Log | None:
        """The flight as it stands; None where it is somebody else's by now."""
        ...

    def write(self, entry: Entry) -> Heard:
        """Write the next entry, whose ``seq`` follows on the last. The same entry may be written again."""
        ...

    def heed(self) -> Heard:
        """Whether the claim stands, and whether the flight was called off, without writing anything."""
        ...

    def meter(self, name: str, done: int, total: int | None) -> None:
        """Show how far a step is. It is kept at once, whatever becomes of the step."""
        ...
