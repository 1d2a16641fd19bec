"""A condition on jobs: comparisons that are combined with and, or and not.

It is a tree of values. The caller writes it as text (``jobs.text.filter_parser``) or builds it from these structs. The
ledger translates it into SQL. These rules hold for any evaluation:

- Every comparison is either true or false for every job, so ``Not`` of it is true for exactly the other jobs.
- Inputs are compared as JSON values. Two are equal if they have the same type and value, however they are written.
  Only numbers are less or greater than numbers, and only texts, by their characters, than texts.
- ``=`` with None is true if the value is missing or null. Any other comparison needs an existing value: ``!=``, too,
  is false for a job that has no such input, or that has not ended.
"""

from datetime import datetime
from enum import StrEnum
from typing import NoReturn, TypeAlias

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.states import State
from sluice.jobs.text.json_value import as_json

#: Limits of a condition: levels of nesting, comparisons, and listed values in all.
DEPTH_MAX = 50
COMPARISONS_MAX = 500
VALUES_MAX = 5000
#: Names in the path of an input, at most.
NAMES_MAX = 20


class Field(StrEnum):
    """Field that every job has.

    ``ended`` is the time at which the job reached its terminal state; it is null before. ``type`` is the ``job_type``
    of its app, as far as the caller has the definitions. ``submission`` is the id of a submission: ``=``
    is true if it has requested the job, and ``!=`` otherwise.
    """

    APP = "app"
    KEY = "key"
    STATE = "state"
    ROUND = "round"
    PRIORITY = "priority"
    CREATED = "created"
    CHANGED = "changed"
    ENDED = "ended"
    TYPE = "type"
    SUBMISSION = "submission"


class Input(Struct, frozen=True):
    """Input of a job, by its name or by the path of names to it: an identifier of the key, or a kwarg."""

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


#: Operators that need an order.
ORDERING = frozenset({Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST})
#: Operators that take a list of values.
LISTING = frozenset({Operator.IN, Operator.NOT_IN})

TIMES = frozenset({Field.CREATED, Field.CHANGED, Field.ENDED})
NUMBERS = frozenset({Field.ROUND, Field.PRIORITY})
#: Fields that hold a name, so that no value is less or greater than another.
NAMES = frozenset({Field.STATE, Field.TYPE, Field.SUBMISSION})
_STATES = frozenset(State)


class Compare(Struct, frozen=True):
    """One comparison. Raises ValueError if it could never be evaluated.

    Times are aware datetimes, values of inputs are JSON. ``in`` and ``not in`` take a tuple of such values.
    """

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
    """True if all parts are true, also if there are no parts."""

    of: tuple["Condition", ...]


class Or(Struct, frozen=True):
    """True if at least one part is true; false if there are no parts."""

    of: tuple["Condition", ...]


class Not(Struct, frozen=True):
    of: "Condition"


Condition: TypeAlias = Compare | And | Or | Not


def comparisons(condition: Condition) -> list[Compare]:
    """Return the comparisons of a condition. Raises BadRequest if the condition exceeds a limit."""
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
    """Return whether its evaluation needs definitions: it names the type of a job, or an input, which may be in the
    key.
    """
    return any(
        isinstance(each.subject, Input) or each.subject is Field.TYPE for each in comparisons(condition)
    )


def check_value(subject: Field | Input, operator: Operator, value: object) -> None:
    """Raise ValueError if the subject cannot be compared with this value by this operator."""
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
    raise BadRequest(f"The condition cannot be evaluated: {why}.", advice="Use a smaller condition.")


def _parts(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case And(of) | Or(of):
            return of
        case Not(of):
            return (of,)
    return ()
