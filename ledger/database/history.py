"""The history of jobs: the rows of ``history``, and how they are read as transitions.

A row has the number of its *kind*: the transition, and the component that carried it out. Some kinds are two
transitions that a job takes at the same moment. So a job that is planned, runs and succeeds has three rows for its five
transitions. The table ``history_kind`` has the words for each number, and the view ``transition`` has a row for each
transition.

A row takes two ids: its own is that of its first transition, and the next id is that of its second.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sluice.jobs.states import CLAIM, MAKE_READY, SUCCEED, VERBS, By, State, Verb

#: The function of the CHECK on ``history``.
CHECK = "is_history_kind(kind)"
_STATES = tuple(State)
_COMPONENTS = tuple(By)


class VerbBy(NamedTuple):
    """A verb, and the actor that carries it out."""

    verb: Verb
    by: By


class HistoryKind(NamedTuple):
    """Row of ``history_kind``: the first (``nth`` 0) or the second transition of a kind."""

    kind: int
    nth: int
    source: str
    target: str
    verb: str
    by: str


#: What may follow another transition at the same moment.
_FOLLOWING = (VerbBy(MAKE_READY, By.PLANNER), VerbBy(CLAIM, By.EXECUTOR), VerbBy(SUCCEED, By.PLANNER))


def number(source: State | None, first: VerbBy, then: VerbBy | None = None) -> int:
    """Return the number of a kind.

    It consists of the places of its parts in their enumerations, and ledgers store it. So new states, verbs, components
    and following transitions are added at the end of their enumeration.
    """
    return _number_of_verbs(first, then) + (0 if source is None else 1 + _STATES.index(source))


def _number_of_verbs(first: VerbBy, then: VerbBy | None) -> int:
    followed = 0 if then is None else 1 + _FOLLOWING.index(then)
    return followed * 1_000_000 + VERBS.index(first.verb) * 10_000 + _COMPONENTS.index(first.by) * 100


def kind_of(first: VerbBy, then: VerbBy | None = None) -> str:
    """Return SQL for the number of a move's kind. It reads the former state as ``source``, and is null if the verb does
    not lead from there."""
    places = " ".join(f"WHEN '{source}' THEN {number(source, first, then)}" for source in first.verb.existing)
    return f"CASE source {places} END"


def kinds() -> Iterator[HistoryKind]:
    """Yield the rows of ``history_kind``."""
    for verb in VERBS:
        for by in sorted(verb.by, key=_COMPONENTS.index):
            for source in (None, *_STATES):
                if source in verb.sources:
                    yield from _rows(source, VerbBy(verb, by))


def _rows(source: State | None, first: VerbBy) -> Iterator[HistoryKind]:
    words = (source or "-", first.verb.target, first.verb.name, first.by)
    yield HistoryKind(number(source, first), 0, *words)
    for then in _FOLLOWING:
        if first.verb.target in then.verb.sources:
            kind = number(source, first, then)
            yield HistoryKind(kind, 0, *words)
            yield HistoryKind(kind, 1, first.verb.target, then.verb.target, then.verb.name, then.by)


def transitions(rows: str = "history") -> str:
    """Return the query for the transitions of these rows of ``history``, with the columns of the view."""
    return f"""SELECT history.id + kind.nth AS id, history.job, history.at,
       kind.source, kind.target, kind.verb, kind.by, history.round,
       CASE WHEN kind.nth = 0 THEN coalesce(history.claim_before, history.claim) ELSE history.claim END AS claim,
       history.note
FROM {rows} history JOIN history_kind kind ON kind.kind = history.kind
"""


#: The statement that makes the view.
VIEW = f"CREATE VIEW transition AS\n{transitions()};\n"


def check_definition() -> str:
    """Return the statement that makes the function of the CHECK (see ``ledger.schema.job_rules``)."""
    known = ", ".join(str(kind) for kind in sorted({row.kind for row in kinds()}))
    return f"""CREATE FUNCTION is_history_kind(kind integer) RETURNS boolean LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN kind IN ({known});
END
$$;
"""


def insert_kinds() -> str:
    """Return the statement that inserts the rows of ``history_kind``."""
    rows = ",\n".join(
        f"    ({row.kind}, {row.nth}, '{row.source}', '{row.target}', '{row.verb}', '{row.by}')"
        for row in kinds()
    )
    return f"INSERT INTO history_kind (kind, nth, source, target, verb, by) VALUES\n{rows};\n"
