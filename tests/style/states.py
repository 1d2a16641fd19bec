"""A job's states are spelled in ``jobs/states.py`` and nowhere else in the rooms.

Some names of states have other uses too: events, conditions of dependencies, answers of steps, states of submissions,
names of messages. Such a word is an offence only next to something called state: in a comparison, as an argument
or field of that name, in SQL. A word that is only the name of a state is an offence anywhere, except in another
enumeration that declares it. Docstrings are exempt.
"""

import ast
import re
from collections.abc import Iterator
from typing import get_args

from sluice.broker.messages import MESSAGES
from sluice.jobs.model.dependency import When
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.notifications.rules import JobEvent
from sluice.jobs.sagas.debug import Injected
from sluice.jobs.states import State
from tests.style.sources import Offence, Source, in_rooms

_HOME = "jobs/states.py"
_STATES = frozenset(map(str, State))
_ELSEWHERE = {
    *get_args(When),
    *get_args(Injected),
    *map(str, SubmissionState),
    *map(str, JobEvent),
    *(message.actor for message in MESSAGES),
}
_UNMISTAKABLE = _STATES - _ELSEWHERE
_IN_SQL = re.compile(
    r"\b\w*state\b(?:::\w+)?\s*(?:=|<>|!=|(?:NOT\s+)?IN\b|IS\s+(?:NOT\s+)?DISTINCT\s+FROM|=\s*ANY)\s*(\([^)]*\)|'\w*')",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'(\w+)'")


def states_are_spelled_in_one_place(sources: list[Source]) -> list[Offence]:
    return [
        Offence(source.path, line, f"the state {word!r} is spelled; take it from jobs.states.State")
        for source in in_rooms(sources)
        if source.path != _HOME and "/migrations/" not in source.path
        for line, word in sorted(set(_spelled(source)))
    ]


def _spelled(source: Source) -> Iterator[tuple[int, str]]:
    free = set(_exempt(source))
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in free:
            if node.value in _UNMISTAKABLE:
                yield node.lineno, node.value
            yield from _in_sql(node.lineno, node.value)
        elif isinstance(node, ast.JoinedStr):
            pieces = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield from _in_sql(node.lineno, "".join(pieces))
        else:
            yield from _meeting_a_state(node)


def _exempt(source: Source) -> Iterator[int]:
    """Yield the IDs of docstrings, of members of other enumerations, and of the parts of f-strings.

    f-strings are read as a whole.
    """
    for node in source.nodes:
        match node:
            case ast.Expr(value):
                yield id(value)
            case ast.JoinedStr(values):
                yield from map(id, values)
            case ast.ClassDef(_, [ast.Name("StrEnum")], _, body):
                yield from (id(each.value) for each in body if isinstance(each, ast.Assign))


def _in_sql(line: int, text: str) -> Iterator[tuple[int, str]]:
    for found in _IN_SQL.finditer(text):
        words = _QUOTED.findall(found[1])
        yield from ((line + text.count("\n", 0, found.start()), word) for word in words if word in _STATES)


def _meeting_a_state(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Compare(left, _, comparators) if any(map(_is_called_state, [left, *comparators])):
            yield from _words(left, *comparators)
        case ast.keyword(arg, value) if arg is not None and _is_state(arg):
            yield from _words(value)
        case ast.Dict(keys, values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and _is_state(str(key.value)):
                    yield from _words(value)


def _words(*nodes: ast.expr) -> Iterator[tuple[int, str]]:
    """Yield the states among these values, and among the members of these collections."""
    for node in nodes:
        if isinstance(node, ast.Constant) and node.value in _STATES:
            yield node.lineno, str(node.value)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield from _words(*node.elts)


def _is_called_state(node: ast.expr) -> bool:
    match node:
        case ast.Name(name) | ast.Attribute(_, name) | ast.Subscript(_, ast.Constant(name)):
            return _is_state(str(name))
    return False


def _is_state(name: str) -> bool:
    """Return whether the name is of a job's state. States of submissions are a separate enumeration."""
    return name.lower().endswith(("state", "states")) and "submission" not in name.lower()
