"""Fake job manager. A test sets its answers in advance, so no test has to wait for external work."""

from collections.abc import Callable
from typing import Any

from sluice.jobs.model.external_work import WorkOwner
from sluice.jobs.model.job import Job


class Place:
    """Fake external system. ``asked`` contains the calls in order; ``grid`` is the manager class that an app names.

    ``check`` returns the ``answers`` in order and then repeats the last one. Each is a status, or an error to raise.
    """

    def __init__(self, *answers: object, handle: object = "w1", refuse_cancel: int = 0) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.before_check: Callable[[], object] = lambda: None
        self._answers = list(answers) or ["running"]
        self._handle = handle
        self._refuse_cancel = refuse_cancel

    @property
    def calls(self) -> list[str]:
        return [call[0] for call in self.asked]

    @property
    def grid(self) -> type:
        place = self

        class Grid:
            poll_s = 0.01

            def run(self, job: Job) -> object:
                place.asked.append(("run", job.token))
                return place.start(job)

            def check(self, handle: Any) -> object:
                place.asked.append(("check", handle))
                place.before_check()
                return place.answer()

            def cancel(self, handle: Any) -> None:
                place.asked.append(("cancel", handle))
                place.end()

        return Grid

    def start(self, job: Job) -> object:
        if isinstance(self._handle, BaseException):
            raise self._handle
        return self._handle(job) if callable(self._handle) else self._handle

    def answer(self) -> object:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def end(self) -> None:
        if self._refuse_cancel:
            self._refuse_cancel -= 1
            raise ConnectionError("the grid does not answer")


class Tie:
    """Fake attachment of a claim. A test sets the answers that the ledger would give."""

    def __init__(
        self, *, handle: Any = None, keeper: WorkOwner = WorkOwner.OURS, accepts: bool = True
    ) -> None:
        self.handle = handle
        self.says = keeper
        self.accepts = accepts
        self.kept: list[object] = []
        self.forgotten: list[object] = []
        self.bequeathed: list[object] = []
        self.left: list[tuple[float, str]] = []

    def keep(self, handle: Any, *, look_every_s: float | None = None, external_status: str = "") -> bool:
        if self.accepts:
            self.kept.append(handle)
        if self.accepts and look_every_s is not None:
            self.left.append((look_every_s, external_status))
        return self.accepts

    def keeper(self, _: Any) -> WorkOwner:
        return self.says

    def ended(self, handle: Any) -> None:
        self.forgotten.append(handle)

    def not_ended(self, handle: Any) -> None:
        self.bequeathed.append(handle)
