"""Answers of a saga's step. Any function may give ``Retry`` and ``Fatal``.

A step returns the class or an instance. Returning nothing means ``Success``. ``Retry`` and ``Fatal`` may also be
raised, by a step or by a plain function.
"""

from typing import ClassVar, Literal

from sluice.jobs.text.json_value import as_json
from sluice.jobs.text.units import read_duration_s

EVENT_CHARS_MAX = 200


class Answer:
    """Base class of the six answers. ``word`` is the name of the answer in logs and debug options."""

    word: ClassVar[str]


class Success(Answer):
    """The step is done."""

    word: ClassVar[str] = "success"


class Retry(Answer, Exception):
    """The attempt failed and may be repeated, if the app or the step has tries left.

    ``text`` is the error of the attempt. ``after`` (seconds, or ``"5m"``) is the delay before the next attempt.
    Default: the delay of the retry rule.
    """

    word: ClassVar[str] = "retry"

    def __init__(self, text: str = "", after: float | str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.after_s = None if after is None else read_duration_s(after)


class Fatal(Answer, Exception):
    """The job fails now, even if tries are left. ``text`` is its error.

    If a saga's do answers this, the do and all steps before it are undone. If an undo answers this, the undo has
    failed.
    """

    word: ClassVar[str] = "fatal"

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.text = text


class Rerun(Answer):
    """One pass is done and its working map is kept. The same step runs again."""

    word: ClassVar[str] = "rerun"


class Wait(Answer):
    """The step is done. The next step begins when ``event`` arrives; without a name, at any event or resume.

    After ``timeout`` (seconds, or ``"2h"``) the wait ends: the step has failed, or, if ``otherwise`` is ``"go_on"``,
    the next step begins without the event. No worker is held during the wait.
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
        self.timeout_s = None if timeout is None else read_duration_s(timeout)
        self.otherwise = otherwise


class Stop(Answer):
    """The step is done. The next step begins on any worker that picks up the flight."""

    word: ClassVar[str] = "stop"


ANSWERS: tuple[type[Answer], ...] = (Success, Retry, Fatal, Rerun, Wait, Stop)


def answer_in(returned: object) -> Answer | None:
    """Return the answer that a value is, or that a class stands for. None for any other value."""
    if isinstance(returned, type) and issubclass(returned, ANSWERS):
        return returned()
    return returned if isinstance(returned, ANSWERS) else None


def read_answer(returned: object) -> Answer:
    """Return the answer of a step. TypeError if the value is not one."""
    if returned is None:
        return Success()
    if (answer := answer_in(returned)) is not None:
        return answer
    words = ", ".join(each.__name__ for each in ANSWERS)
    raise TypeError(
        f"it returned {returned!r:.200}, which is no answer; return one of {words}, or None for Success"
    )


def check_event(name: object) -> str:
    """Return the name of an event. ValueError if the ledger could not store it."""
    if not isinstance(name, str) or not 0 < len(name) <= EVENT_CHARS_MAX:
        raise ValueError(f"{name!r:.80} is no name of an event; it has 1 to {EVENT_CHARS_MAX} characters")
    as_json(name)
    return name
