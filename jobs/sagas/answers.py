"""What a step may answer. The class serves as well as an instance of it, and nothing stands for ``Success``.

``Retry`` and ``Fatal`` may also be raised, so that what a step calls, however deep, can say it.
"""

from typing import ClassVar, Literal

from jobs.durations import parse_duration_s
from jobs.json_value import as_json

EVENT_CHARS_MAX = 200


class Answer:
    """One of the six below. ``word`` is how logs and debug options call it."""

    word: ClassVar[str]


class Success(Answer):
    """The step is done."""

    word: ClassVar[str] = "success"


class Retry(Answer, Exception):
    """It did not work this time; the step's retry rule says whether it is tried again, and when."""

    word: ClassVar[str] = "retry"

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.text = text


class Fatal(Answer, Exception):
    """It does not work. A do that says so is undone, with all before it; an undo that does is a dismal failure."""

    word: ClassVar[str] = "fatal"

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.text = text


class Rerun(Answer):
    """One pass is done and its working map kept; the same step runs again."""

    word: ClassVar[str] = "rerun"


class Wait(Answer):
    """The step is done, and the next begins when ``event`` has come: without one, when anybody says so.

    After ``timeout`` (seconds, or ``"2h"``) nobody waits any more: the step has failed after all, or, where
    ``otherwise`` is ``"go_on"``, the next one begins without the event. No worker is held meanwhile.
    """

    word: ClassVar[str] = "wait"

    def __init__(
        self,
        event: str | None = None,
        timeout: float | str | None = None,
        otherwise: Literal["undo", "go_on"] = "undo",
    ) -> None:
        if event is not None:
            check_event(event)
        if otherwise not in {"undo", "go_on"}:
            raise ValueError(f"{otherwise!r} is neither undo nor go_on")
        self.event = event
        self.timeout_s = None if timeout is None else parse_duration_s(timeout)
        self.otherwise = otherwise


class Stop(Answer):
    """The step is done, and the next begins on whichever worker takes the flight up again."""

    word: ClassVar[str] = "stop"


ANSWERS: tuple[type[Answer], ...] = (Success, Retry, Fatal, Rerun, Wait, Stop)


def read_answer(returned: object) -> Answer:
    """What a step returned; TypeError where that is none of the six."""
    if returned is None:
        return Success()
    if isinstance(returned, ANSWERS):
        return returned
    if isinstance(returned, type) and issubclass(returned, ANSWERS):
        return returned()
    words = ", ".join(each.__name__ for each in ANSWERS)
    raise TypeError(
        f"it returned {returned!r:.200}, which is no answer; there are {words}, and nothing for Success"
    )


def check_event(name: object) -> str:
    """The name of an event; ValueError where the ledger could not keep it."""
    if not isinstance(name, str) or not 0 < len(name) <= EVENT_CHARS_MAX:
        raise ValueError(f"{name!r:.80} is no name of an event; it has 1 to {EVENT_CHARS_MAX} characters")
    as_json(name)
    return name
