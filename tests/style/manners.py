"""Errors must not be swallowed, rooms must not print, and exemptions from a checker must have a reason."""

import ast
import re

from tests.style.sources import Offence, Source, in_rooms

_BROAD = {"Exception", "BaseException"}
_EXEMPTION = re.compile(
    r"#\s*(?:noqa|type:\s*ignore)(?::\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*|\[[\w, -]+\])?(?P<rest>.*)"
)
_WORD = re.compile(r"[^\W\d_]{2,}|\b[aI]\b")
REASON_WORDS_MIN = 3


def errors_are_not_swallowed(sources: list[Source]) -> list[Offence]:
    offences = []
    for source in sources:
        for node in source.nodes:
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                offences.append(Offence(source.path, node.lineno, "a bare except"))
            elif isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and _does_nothing(node.body):
                offences.append(Offence(source.path, node.lineno, "every error is swallowed"))
            elif (
                isinstance(node, ast.Call)
                and _name(node.func) == "suppress"
                and any(map(_is_broad, node.args))
            ):
                offences.append(Offence(source.path, node.lineno, "every error is suppressed"))
    return offences


def only_ops_prints(sources: list[Source]) -> list[Offence]:
    """Find calls of ``print`` outside ``ops``. Examples are a user's code and may print their output."""
    return [
        Offence(source.path, node.lineno, "print belongs to ops; use a logger")
        for source in in_rooms(sources)
        if source.room != "ops" and not source.path.startswith("jobs/examples/")
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def exemptions_carry_a_reason(sources: list[Source]) -> list[Offence]:
    return [
        Offence(
            source.path,
            number,
            f"an exemption without a reason of {REASON_WORDS_MIN} words: {found[0].strip()}",
        )
        for source in sources
        for number, line in enumerate(source.text.splitlines(), start=1)
        if (found := _EXEMPTION.search(line)) and len(_WORD.findall(found["rest"])) < REASON_WORDS_MIN
    ]


def _is_broad(node: ast.expr | None) -> bool:
    members = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(member is not None and _name(member) in _BROAD for member in members)


def _does_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(each, ast.Pass | ast.Continue)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""
