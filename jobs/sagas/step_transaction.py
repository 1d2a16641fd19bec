"""Transaction of a step: its own writes and its entry in the journal are committed together.

Invariants: an entry that is committed with the writes of a step is the result of the step. Nothing that the step does
afterwards changes that, and no other entry takes its place. If the transaction is rolled back, neither exists, and the
step has failed like any other.

If the connection breaks during the commit, its result is unknown. The journal then shows whether the entry exists. No
other run can have written it, because it has the number after the last entry of this run.

A crash before the commit leaves nothing of the step. After the commit, the next run continues with the next step.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sluice.jobs.errors import BadRequest
from sluice.jobs.sagas.answers import Answer, Fatal, Retry
from sluice.jobs.sagas.journal import Journal, JournalEntry, JournalReply


class StepTransaction:
    """Transaction of one try of a step. ``entry`` is its committed entry, and ``reply`` the reply of the journal to it.

    ``entry_of`` returns the entry for an answer. ``replaced`` returns the answer that counts (``jobs.sagas.debug``).
    """

    def __init__(
        self,
        journal: Journal,
        entry_of: Callable[[Answer], JournalEntry],
        replaced: Callable[[Answer], Answer],
    ) -> None:
        self.entry: JournalEntry | None = None
        self.reply = JournalReply(stands=True)
        self.answer: Answer | None = None
        self._journal = journal
        self._entry_of = entry_of
        self._replaced = replaced

    @contextmanager
    def open(self, answer: Answer) -> Iterator[Any]:
        """Yield a connection. If the block ends without an error, the step has this answer."""
        if self.entry is not None:
            raise BadRequest("A step has one transaction, and this step's has been committed.")
        entry: JournalEntry | None = None
        try:
            with self._journal.transaction() as opened:
                yield opened.connection
                counts = self._replaced(answer)
                if isinstance(counts, Retry | Fatal):
                    raise counts
                entry = self._entry_of(answer)
                self.reply = opened.write(entry)
        except Exception:
            if entry is None or not self._is_committed(entry):
                raise
        self.entry, self.answer = entry, answer

    def _is_committed(self, entry: JournalEntry) -> bool:
        log = self._journal.read()
        if log is None or log.last is None or log.last.seq != entry.seq:
            return False
        self.reply = JournalReply(stands=True, abort_reason=log.abort_reason)
        return True
