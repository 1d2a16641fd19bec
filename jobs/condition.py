"""A condition on jobs: what is compared with what, put together with and, or and not.

It is a tree of values. Who asks writes it as text (``jobs.condition_text``) or makes it of these structs; the ledger
makes SQL of it. What holds, whoever evaluates it:

- Every comparison is true or false of every job, so ``Not`` of it is true of exactly the others.
- Inputs are compared as JSON values. Two are equal if they are of one type and of one value, however they are written.
  Only numbers are less or greater than numbers, and texts, by their characters, than texts.
- ``=`` with None is true of what is missing or null. Any other comparison needs something to be there to compare with:
  ``!=`` too is false of a job that has no such input, or that has not ended.
"""

from datetime import datetime
from enum import StrEnum
from typing import NoReturn, TypeAlias

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.json_value import as_json
from sluice.jobs.states import State

#: So deep a condition may nest, of so many comparisons it may be made, and so many values it may list in all.
DEPTH_MAX = 50
COMPARISONS_MAX = 500
VALUES_MAX = 5000
#: So many names may lead into an input.
NAMES_MAX = 20


class Field(StrEnum):
    """What every job has. ``ended`` is since when it is in a state that is an end, and null before; ``type`` is the
    ``job_type`` of its app, as far as whoever asks has the definitions."""

    APP = "app"
    KEY = "key"
    STATE = "state"
    ROUND = "round"
    PRIORITY = "priority"
    CREATED = "created"
    CHANGED = "changed"
    ENDED = "ended"
    TYPE = "type"


class Input(Struct, frozen=True):
    """An input by its name, or by the names that lead into it: an identifier of the key, or one of the kwargs."""

    path: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.path) <= NAMES_MAX:
            raise ValueError(f"an input has 1 to {NAMES_MAX} names")
        for name in self.path:
            as_json(name)

    def __str__(self) -> str:
        return ".".join(("inputs", *self.path))


class Operator(StrEnum):
    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    IN = "in"
    NOT_IN = "not in"


#: Those that go by an order.
ORDERING = frozenset({Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST})
#: Those that take a list of values.
LISTING = frozenset({Operator.IN, Operator.NOT_IN})

TIMES = frozenset({Field.CREATED, Field.CHANGED, Field.ENDED})
NUMBERS = frozenset({Field.ROUND, Field.PRIORITY})
#: What is a name, and neither less nor greater than another.
NAMES = frozenset({Field.STATE, Field.TYPE})
_STATES = frozenset(State)


class Compare(Struct, frozen=True):
    """One comparison; ValueError for what could never be asked. Times are aware datetimes, the values of inputs JSON;
    those of ``in`` and ``not in`` are a tuple of such."""

    subject: Field | Input
    operator: Operator
    value: object = None

    def __post_init__(self) -> None:
        if self.operator in LISTING and not (isinstance(self.value, tuple) and self.value):
            raise ValueError(f"{self.operator} takes one or more values, in parentheses")
        if self.operator in ORDERING and self.subject in NAMES:
            raise ValueError(
                f"{self.subject} is neither less nor greater than another; compare it by = or in"
            )
        for value in self.values:
            check_value(self.subject, self.operator, value)

    @property
    def values(self) -> tuple[object, ...]:
        return self.value if self.operator in LISTING and isinstance(self.value, tuple) else (self.value,)


class And(Struct, frozen=True):
    """All of them; true where there are none."""

    of: tuple["Condition", ...]


class Or(Struct, frozen=True):
    """One of them at least; false where there are none."""

    of: tuple["Condition", ...]


class Not(Struct, frozen=True):
    of: "Condition"


Condition: TypeAlias = Compare | And | Or | Not


def comparisons(condition: Condition) -> list[Compare]:
    """Those that it is made of; BadRequest for a condition beyond what one may be."""
    found: list[Compare] = []
    level, depth, of_level = [condition], 0, 0
    while level:
        depth, of_level = depth + 1, of_level + len(level)
        found += [each for each in level if isinstance(each, Compare)]
        if depth > DEPTH_MAX:
            _refuse(f"it nests deeper than {DEPTH_MAX} levels")
        if of_level > 2 * COMPARISONS_MAX or len(found) > COMPARISONS_MAX:
            _refuse(f"it has more than {COMPARISONS_MAX} comparisons")
        level = [inner for each in level for inner in _parts(each)]
    if sum(len(each.values) for each in found) > VALUES_MAX:
        _refuse(f"it lists more than {VALUES_MAX} values")
    return found


def needs_definitions(condition: Condition) -> bool:
    """Whether it says more where definitions are at hand: which type a job has, and what is in its key."""
    return any(
        isinstance(each.subject, Input) or each.subject is Field.TYPE for each in comparisons(condition)
    )


def check_value(subject: Field | Input, operator: Operator, value: object) -> None:
    """ValueError for a value with which this cannot be compared so."""
    if value is None:
        _check_null(subject, operator)
    elif subject in TIMES:
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise ValueError(f"{subject} is a time, and {value!r} is none with a zone")
    elif subject in NUMBERS:
        if not isinstance(as_json(value), int) or isinstance(value, bool):
            raise ValueError(f"{subject} is a whole number, and {value!r} is none")
    elif not isinstance(as_json(value), str) and not isinstance(subject, Input):
        raise ValueError(f"{subject} is a text, and {value!r} is none")
    elif subject is Field.STATE and value not in _STATES:
        raise ValueError(f"{value!r} is no state; there are {', '.join(State)}")


def _check_null(subject: Field | Input, operator: Operator) -> None:
    if not isinstance(subject, Input) and subject is not Field.ENDED:
        raise ValueError(f"{subject} is never null")
    if operator in ORDERING:
        raise ValueError("nothing is less or greater than null; write is null, or is not null")


def _refuse(why: str) -> NoReturn:
    raise BadRequest(f"The condition cannot be asked: {why}.", advice="Ask for less at once.")


def _parts(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case And(of) | Or(of):
            return of
        case Not(of):
            return (of,)
    return ()
