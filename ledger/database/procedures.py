"""Procedures: statements that follow each other in a transaction, as one function of the database.

A worker that sends six statements one after the other waits for six answers. A procedure needs one. Its function is
made from the very statements that verbs use, so nothing is written twice. Each statement of the function sees what was
committed before it began, as it does when it is sent by itself, so the races stay the same.

The migrations have the text of each function (``definition``), and a test compares them. A changed procedure gets a new
name and a migration that adds it, so processes of the previous version keep theirs.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_PLACE = re.compile(r"%(?:\((\w+)\)s(?:::(\w+(?:\[\])?))?|(%))")


def read(lines: Sequence[str], kind: type[T]) -> list[T]:
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


class ColumnOf(NamedTuple):
    """Column of the rows of an earlier step, which is at this place. The numbers in it are an array."""

    step: int
    column: str = "id"


class ProcedureStep(NamedTuple):
    """Statement of a procedure, of which each column has a name. Each of its parameters has a cast.

    ``earlier`` are parameters that are columns of earlier steps.
    """

    sql: str
    earlier: Mapping[str, ColumnOf] = MappingProxyType({})
    then: ContinueIf = ContinueIf.ALWAYS


class Procedure:
    """Function of the database with these steps. Its rows are the place of a step, and a row of that step as JSON."""

    def __init__(self, name: str, *steps: ProcedureStep) -> None:
        self.name = name
        self.steps = steps
        self._types: dict[str, str] = {}
        for step in steps:
            for place in _PLACE.finditer(step.sql):
                parameter, type_, _ = place.groups()
                if parameter and parameter not in step.earlier:
                    self._types[parameter] = type_ or self._types[parameter]
        given = ", ".join(f"%({parameter})s::{type_}" for parameter, type_ in self._types.items())
        #: The statement that calls the function.
        self.call = f"SELECT step_number, line FROM {name}({given})"

    def definition(self) -> str:
        """Return the statement that makes the function, with ``@schema@`` in place of the ledger's schema."""
        given = ",\n    ".join(f"{parameter} {type_}" for parameter, type_ in self._types.items())
        collected = sorted({each for step in self.steps for each in step.earlier.values()})
        lines = [
            f"CREATE FUNCTION {self.name}(\n    {given}",
            ") RETURNS TABLE (step_number int, line text) LANGUAGE plpgsql",
            "SET search_path = @schema@, pg_temp AS $$",
            "#variable_conflict use_column",
            "DECLARE",
            "    found record;",
            "    rows_of_step int;",
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
                f"        step_number := {place};",
                "        line := row_to_json(found);",
                "        RETURN NEXT;",
                "    END LOOP;",
                *self._after(step),
            ]
        return "\n".join([*lines, "END", "$$;", ""])

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
        if step.then is ContinueIf.ALWAYS:
            return []
        condition = re.sub(r"@(\w+)", lambda match: self._place_of(match[1]), step.then)
        return [f"    IF ({condition}) IS NOT TRUE THEN RETURN; END IF;"]

    def _place_of(self, parameter: str) -> str:
        return f"${[*self._types].index(parameter) + 1}"


def _variable(each: ColumnOf) -> str:
    return f"{each.column}s_of_{each.step}"
