"""Journal in memory, for flights without a ledger. It ends with its process."""

from sluice.jobs.sagas.entry import Entry, Event, Heard, Log, Mark
from sluice.jobs.submission import JSON


class MemoryJournal:
    """Journal in memory. Tests may read ``entries`` and ``meters``. ``overdue`` ends the current wait, if that has a
    timeout.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.meters: dict[str, tuple[int, int | None]] = {}
        self.overdue = False
        self.turn_back: str | None = None
        self._events: list[Event] = []
        self._reads = 0

    def read(self) -> Log | None:
        self._reads += 1
        taken = {entry.event for entry in self.entries}
        last = self.entries[-1] if self.entries else None
        switches = [
            entry.failure for entry in self.entries if entry.failure and entry.mark is not Mark.DISMAL
        ]
        return Log(
            last=last,
            names={entry.step: entry.name for entry in self.entries},
            failure=switches[-1] if switches else None,
            events=tuple(
                Event(id=event.id, name=event.name, payload=event.payload, taken=event.id in taken)
                for event in self._events
            ),
            overdue=self.overdue and _has_an_end(last),
            turn_back=self.turn_back,
            taken_up=self._reads > 1,
        )

    def write(self, entry: Entry) -> Heard:
        if entry not in self.entries[-1:]:
            if entry.seq != len(self.entries) + 1:
                raise AssertionError(f"entry {entry.seq} does not follow on {len(self.entries)}")
            self.entries.append(entry)
        return self.heed()

    def heed(self) -> Heard:
        return Heard(stands=True, turn_back=self.turn_back)

    def meter(self, name: str, done: int, total: int | None) -> None:
        self.meters[name] = (done, total)

    def tell(self, name: str | None, payload: JSON = None) -> None:
        """Add an event."""
        self._events.append(Event(id=len(self._events) + 1, name=name, payload=payload))


def _has_an_end(last: Entry | None) -> bool:
    """Return whether this entry awaits something with a timeout."""
    return last is not None and last.awaits is not None and last.awaits.within_s is not None
