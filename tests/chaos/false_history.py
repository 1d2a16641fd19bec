"""Changes that make a history false in one place."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from tests.chaos.history import Effect, History
from tests.chaos.rows import Rows

Tamper = Callable[[History], History]
Pick = Callable[[History, Any], bool]


def changed(table: str, pick: Pick, **words: Any) -> Tamper:
    """Change the first matching row. A callable value is computed from the row."""

    def tamper(history: History) -> History:
        rows = [*getattr(history.rows, table)]
        place = next(place for place, row in enumerate(rows) if pick(history, row))
        said = {name: value(rows[place]) if callable(value) else value for name, value in words.items()}
        rows[place] = structs.replace(rows[place], **said)
        return _with_rows(history, table, rows)

    return tamper


def without(table: str, pick: Pick) -> Tamper:
    def tamper(history: History) -> History:
        rows = getattr(history.rows, table)
        gone = next(row for row in rows if pick(history, row))
        return _with_rows(history, table, [row for row in rows if row is not gone])

    return tamper


def also(table: str, make: Callable[[History], Any]) -> Tamper:
    """Add a row. A transition is sorted by its job and its number."""

    def tamper(history: History) -> History:
        rows = [*getattr(history.rows, table), make(history)]
        if table == "transitions":
            rows.sort(key=lambda step: (step.job, step.id))
        return _with_rows(history, table, rows)

    return tamper


def moved(pick: Pick, *, by_s: float) -> Tamper:
    """Move the first matching line by this many seconds."""
    return _effects(lambda effect: [structs.replace(effect, at=effect.at + by_s)], pick)


def unwritten(pick: Pick) -> Tamper:
    return _effects(lambda effect: [], pick)


def doubled(pick: Pick, **words: Any) -> Tamper:
    """Add a copy of the first matching line with some fields changed."""
    return _effects(lambda effect: [effect, structs.replace(effect, **words)], pick)


def never_stopped() -> Tamper:
    """Remove all intervals in which a worker was stopped."""
    return lambda history: History(history.run, history.rows, history.effects, history.accepted, [])


def of(app: str, **words: Any) -> Pick:
    """Pick rows and lines of a job of this app that have these values."""

    def pick(history: History, row: Any) -> bool:
        id_ = getattr(row, "job", getattr(row, "id", None))
        job = history.jobs.get(id_) if isinstance(id_, int) else None
        name = job.app if job else getattr(row, "app", None)
        return name == app and all(getattr(row, word) == value for word, value in words.items())

    return pick


def both(*tampers: Tamper) -> Tamper:
    def tamper(history: History) -> History:
        for each in tampers:
            history = each(history)
        return history

    return tamper


def _effects(change: Callable[[Effect], list[Effect]], pick: Pick) -> Tamper:
    def tamper(history: History) -> History:
        found = next(effect for effect in history.effects if pick(history, effect))
        kept = [effect for effect in history.effects if effect is not found]
        return History(history.run, history.rows, kept + change(found), history.accepted, history.stopped)

    return tamper


def _with_rows(history: History, table: str, rows: list[Any]) -> History:
    tampered: Rows = structs.replace(history.rows, **{table: rows})
    return History(history.run, tampered, history.effects, history.accepted, history.stopped)
