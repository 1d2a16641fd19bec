"""Procedures: statements that follow each other in a transaction, as one procedure of the database.

A worker that sends six statements one after the other waits for six answers. A procedure needs one. It is made from
the very statements that verbs use, so nothing is written twice. Each statement of the procedure sees what was committed
before it began, as it does when it is sent by itself, so the races stay the same.

A procedure can also be a whole transaction (``Ledger.call_alone``): then the commit needs no answer of its own. That
works if nothing is left to do after it. The procedure itself finds out; if something is left, it rolls back, and the
caller starts again with a transaction of several statements. Nothing is committed in between. A function could only
undo its writes in a subtransaction, which takes a transaction number of its own.

The migrations have the text of each procedure (``definition``), and a test compares them. A changed procedure gets a
new name and a migration that adds it, so processes of the previous version keep theirs.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")

_PLACE = re.compile(r"%(?:\((\w+)\)s(?:::(\w+(?:\[\])?))?|(%))")


#: Assignment of the result. Without it, the result is null.
_RESULT = "result := '[' || array_to_string(lines, ',') || ']';"


def read(lines: Sequence[msgspec.Raw], kind: type[T]) -> list[T]:
    """Return the rows of a step, each as a struct of this kind."""
    return [msgspec.json.decode(line, type=kind) for line in lines]


class ContinueIf(StrEnum):
    """When a procedure goes on after a step; otherwise it ends. ``found`` is the last row of the step."""

    ALWAYS = "true"
    SOME_ROWS = "rows_of_step > 0"
    NO_ROWS = "rows_of_step = 0"
    #: A row for each of the ``jobs``.
    ALL_ROWS = "rows_of_step = cardinality(@jobs)"
    #: A single row, of a job of the ``app`` that may begin because its gate has opened.
    OPENED_ONE = (
        "rows_of_step = 1 AND found.is_open AND NOT found.has_lost AND found.may_begin AND found.app = @app"
    )


#: Rows as the procedure returns them: the place of a step, and a row of that step.
_Found: TypeAlias = list[tuple[int, msgspec.Raw]]


class ColumnOf(NamedTuple):
    """Column of the rows of an earlier step, which is at this place. The numbers in it are an array."""

    step: int
    column: str = "id"


class ProcedureStep(NamedTuple):
    """Statement of a procedure, of which each column has a name. Each of its parameters has a cast.

    ``earlier`` are parameters that are columns of earlier steps. ``leaves_nothing`` is SQL that is true if the rows of
    the step leave nothing to do for the caller. It may read ``rows_of_step`` and ``found``, the last row.
    """

    sql: str
    earlier: Mapping[str, ColumnOf] = MappingProxyType({})
    then: ContinueIf = ContinueIf.ALWAYS
    leaves_nothing: str = "true"


class Procedure:
    """Procedure of the database with these steps. Its result is a JSON array of the places of steps and their rows.

    The last parameter given to it is whether it is a whole transaction.
    """

    def __init__(self, name: str, *steps: ProcedureStep) -> None:
        self.name = name
        self.steps = steps
        self._types: dict[str, str] = {}
        for step in steps:
            for place in _PLACE.finditer(step.sql):
                parameter, type_, _ = place.groups()
                if parameter and parameter not in step.earlier:
                    self._types[parameter] = type_ or self._types[parameter]
        self._types["is_whole"] = "bool"
        given = ", ".join(f"%({parameter})s::{type_}" for parameter, type_ in self._types.items())
        #: The statement that calls the procedure.
        self.call = f"CALL {name}({given}, NULL)"

    def definition(self) -> str:
        """Return the statement that makes the procedure. It has no search path of its own: a procedure with one may not
        roll back, and its statements are found like all others of the connection."""
        given = "".join(f"    {parameter} {type_},\n" for parameter, type_ in self._types.items())
        collected = sorted({each for step in self.steps for each in step.earlier.values()})
        lines = [
            f"CREATE PROCEDURE {self.name}(\n{given}    INOUT result text",
            ") LANGUAGE plpgsql AS $$",
            "#variable_conflict use_column",
            "DECLARE",
            "    found record;",
            "    rows_of_step int;",
            "    lines text[] := '{}';",
            *(f"    {_variable(each)} bigint[] := '{{}}';" for each in collected),
            "BEGIN",
        ]
        for place, step in enumerate(self.steps):
            collects = [
                f"        {_variable(each)} := {_variable(each)} || found.{each.column};"
                for each in collected
                if each.step == place
            ]
            lines += [
                "    rows_of_step := 0;",
                "    FOR found IN",
                *(line.rstrip() for line in self._written(step).splitlines() if line.strip()),
                "    LOOP",
                "        rows_of_step := rows_of_step + 1;",
                *collects,
                f"        lines := lines || ('[{place},' || row_to_json(found) || ']');",
                "    END LOOP;",
                *self._after(step),
            ]
        return "\n".join([*lines, f"    {_RESULT}", "END", "$$;", ""])

    def collect(self, result: str | None) -> list[list[msgspec.Raw]] | None:
        """Return the rows of each step from the result of the procedure; None if it has rolled back."""
        if result is None:
            return None
        steps: list[list[msgspec.Raw]] = [[] for _ in self.steps]
        for step, line in msgspec.json.decode(result, type=_Found):
            steps[step].append(line)
        return steps

    def _written(self, step: ProcedureStep) -> str:
        """Return the statement of a step as the function has it."""

        def written(match: re.Match[str]) -> str:
            name, type_, percent = match.groups()
            if percent:
                return percent
            value = _variable(step.earlier[name]) if name in step.earlier else self._place_of(name)
            return f"{value}::{type_}" if type_ else value

        return _PLACE.sub(written, step.sql)

    def _after(self, step: ProcedureStep) -> list[str]:
        """Return the lines that decide, after a step, whether to undo everything, to end, or to go on."""
        lines = []
        if step.leaves_nothing != "true":
            left = f"{self._place_of('is_whole')} AND ({self._condition(step.leaves_nothing)}) IS NOT TRUE"
            lines.append(f"    IF {left} THEN ROLLBACK; RETURN; END IF;")
        if step.then is not ContinueIf.ALWAYS:
            lines.append(f"    IF ({self._condition(step.then)}) IS NOT TRUE THEN {_RESULT} RETURN; END IF;")
        return lines

    def _condition(self, text: str) -> str:
        return re.sub(r"@(\w+)", lambda match: self._place_of(match[1]), text)

    def _place_of(self, parameter: str) -> str:
        return f"${[*self._types].index(parameter) + 1}"


def _variable(each: ColumnOf) -> str:
    return f"{each.column}s_of_{each.step}"
