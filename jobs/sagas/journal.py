"""Interface of the journal of one flight, as its run uses it."""

from typing import Protocol

from sluice.jobs.sagas.entry import Entry, Heard, Log


class Journal(Protocol):
    """Journal of one flight. No method raises: if the ledger is away, calls are repeated until it answers, or until the
    claim cannot be trusted any more.
    """

    def read(self) -> Log | None:
        """Return the state of the flight, or None if another claim has it."""
        ...

    def write(self, entry: Entry) -> Heard:
        """Write the next entry. Its ``seq`` follows the last entry. The same entry may be written again."""
        ...

    def heed(self) -> Heard:
        """Return whether the claim stands and whether the flight was aborted, without writing anything."""
        ...

    def meter(self, name: str, done: int, total: int | None) -> None:
        """Show the progress of a step. It is stored immediately, even if the step fails later."""
        ...
