"""Prose in code and in Markdown, and the patterns that make it hard to read.

Each pattern may match ``MATCHES_MAX`` times in 1,000 words of a room.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.style.sources import Source

#: By name, an expression for each pattern, and what to write instead.
PATTERNS: dict[str, tuple[re.Pattern[str], str]] = {
    "headless clause": (
        re.compile(
            r"\bwhat(?:ever)?\s+(?:is|was|are|were|has|have|had|comes?|came|follows?|the|an?|it|they|there|this|that|each|else|one"
            r"|runs?|ends?|happens?|happened|may|might|can|could|must|will|would|does|did|do|needs?|waits?|remains|became|becomes)\b",
            re.IGNORECASE,
        ),
        "name the noun: finished jobs, the outcome",
    ),
    "person": (
        re.compile(
            r"\b(?:who(?:ever|m|se|soever)?|nobody|somebody|someone|everybody|anybody|he|him|his|himself)\b",
            re.IGNORECASE,
        ),
        "name the component, the caller, the user, or use it",
    ),
    "missing noun": (
        re.compile(r"\b(?:those|ones?|such|others)\s+(?:that|which|who|of|as|whose)\b", re.IGNORECASE),
        "repeat the noun",
    ),
    "speaking software": (
        re.compile(r"\b(?:says?|said|tells?|told|untold|telling|saying)\b", re.IGNORECASE),
        "set, report, notify, require",
    ),
    "existence": (
        re.compile(
            r"\b(?:is|are|was|were|be|been)\s+there\b|\b(?:stands?|stood|lies|lay)\s+(?:in|at|on|under|below|above|beside|behind)\b",
            re.IGNORECASE,
        ),
        "exists, is missing, is in",
    ),
    "result": (
        re.compile(
            r"\b(?:comes?|came|coming)\s+to\b|\b(?:goes|go|went|gone)\s+(?:by|before|with|behind)\b",
            re.IGNORECASE,
        ),
        "results in, is determined by, overrides",
    ),
    "old word": (
        re.compile(
            r"\b(?:anew|amiss|mend(?:s|ed|ing)?|likewise|besides|for ever|so many|so much|ought|hence|thereby"
            r"|therein|whereby|thereupon|henceforth|afresh|lest|save for)\b",
            re.IGNORECASE,
        ),
        "again, wrong, fix, also, at most N",
    ),
    "reason with for": (
        re.compile(r",\s+for\s+(?:it|they|that|there|this|he|she|we|nothing|nobody|no|its|their|the|an?)\b"),
        "because",
    ),
    "obligation with to be": (
        re.compile(
            r"\b(?:is|are|was|were)\s+to\s+be\b|\b(?:is|are|was|were)\s+to\s+(?:have|come|run|know|see|wait|go)\b"
        ),
        "must be, will be",
    ),
    "metaphor": (
        re.compile(
            r"\b(?:hints?|parcels?|lifelines?|onlookers?|bystanders?|witness(?:es)?|teller|doorbell|lookout|litter|strand(?:s|ed|ing)?"
            r"|condemn(?:s|ed)?|flying|take[sn]? off|took off|dismal|kin|relatives|crowd|fences?|desk|crew)\b",
            re.IGNORECASE,
        ),
        "use the glossary's term",
    ),
    "fragment": (
        re.compile(
            r"\A(?:those|what|whatever|whether|the same|of|which|how|where|whose|whom|who|whoever|likewise|as|so"
            r"|that)\b",
            re.IGNORECASE,
        ),
        "begin a function's docstring with an imperative, a class's with a noun",
    ),
}
#: Matches of a pattern per 1,000 words that are accepted: comparable libraries have 0 to 0.5.
MATCHES_MAX = 0.5
#: At least this many words make a string a message.
_MESSAGE_WORDS_MIN = 4
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE|WITH|AND|RETURNS|VALUES)\b")
#: A comment of its own, or behind code, which the formatter sets two blanks before it.
_COMMENT = re.compile(r"^(?P<code>\s*|.*\S {2,})#[:!]? ?(?P<comment>.*)$")
_DIRECTIVES = ("noqa", "type:", "fmt:")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
#: A comment, or a string, of JavaScript.
_SCRIPT_TEXT = re.compile(
    r'// ?(?P<comment>[^\n]*)|"(?P<message>(?:[^"\\\n]|\\.)*)"|`(?P<template>(?:[^`\\]|\\.)*)`'
)
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
_CODE = re.compile(r"``[^`]*``|`[^`]*`")


class Piece(NamedTuple):
    """A docstring, a comment of adjoining lines, a message, or a paragraph of a page."""

    line: int
    kind: str
    text: str


class Match(NamedTuple):
    """One place where a pattern was found."""

    path: str
    line: int
    pattern: str
    text: str


def pieces(source: Source) -> Iterator[Piece]:
    """Yield the prose of a file. Code in backticks is left out."""
    if source.path.endswith(".md"):
        yield from _paragraphs(source.text)
        return
    if source.path.endswith(".js"):
        yield from _script_texts(source.text)
        return
    documented = set[int]()
    for node in source.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                documented.add(id(first.value))
                yield Piece(first.lineno, "docstring", _plain(first.value.value))
    for node in source.nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documented
            and len(_WORD.findall(node.value)) >= _MESSAGE_WORDS_MIN
            and not _SQL.search(node.value)
        ):
            yield Piece(node.lineno, "message", _plain(node.value))
    yield from _comments(source)


def _paragraphs(text: str) -> Iterator[Piece]:
    """Yield the paragraphs, list items and table rows of a page, without blocks of code and targets of links."""
    block: list[str] = []
    is_code = False
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        is_fence = line.lstrip().startswith("```")
        if (is_fence or is_code or not line.strip() or line.lstrip().startswith(("|", "- ", "#"))) and block:
            yield Piece(number - len(block), "paragraph", _plain(_LINK.sub(r"\1", " ".join(block))))
            block = []
        is_code ^= is_fence
        if not (is_fence or is_code) and line.strip():
            block.append(line)


def _script_texts(text: str) -> Iterator[Piece]:
    """Yield the comments and the messages of a script. Each line of a comment is a piece of its own."""
    for found in _SCRIPT_TEXT.finditer(text):
        kind = found.lastgroup or ""
        words = _PLACEHOLDER.sub("X", found[kind])
        if kind == "comment" or len(_WORD.findall(words)) >= _MESSAGE_WORDS_MIN:
            yield Piece(text.count("\n", 0, found.start()) + 1, kind, _plain(words))


def _comments(source: Source) -> Iterator[Piece]:
    """Yield the comments, adjoining lines together. Lines of a string are left out."""
    strings = {
        line
        for node in source.nodes
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    block: list[str] = []
    for number, line in enumerate([*source.text.split("\n"), ""], start=1):
        found = _COMMENT.search(line) if number not in strings else None
        if block and (found is None or found["code"].strip()):
            yield Piece(number - len(block), "comment", _plain(" ".join(block)))
            block = []
        if found is not None and not found["comment"].startswith(_DIRECTIVES):
            block.append(found["comment"])


def _plain(text: str) -> str:
    return _CODE.sub("X", " ".join(text.split()))


def matches(source: Source) -> Iterator[Match]:
    """Yield each place where prose matches a pattern."""
    for piece in pieces(source):
        for name, (pattern, _) in PATTERNS.items():
            if name == "fragment" and piece.kind != "docstring":
                continue
            for found in pattern.finditer(piece.text):
                around = piece.text[max(0, found.start() - 40) : found.end() + 40]
                yield Match(source.path, piece.line, name, around)


def counted(source: Source) -> Counter[str]:
    """Count the words of a file and the matches of each pattern, as ``package: pattern``."""
    found = Counter({"words": sum(len(_WORD.findall(piece.text)) for piece in pieces(source))})
    found.update(match.pattern for match in matches(source))
    return Counter({f"{source.room}: {pattern}": number for pattern, number in found.items()})


def over_the_limit(found: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are above the limit for the words of their package."""
    return {
        place: number
        for place, number in found.items()
        for package, _, pattern in [place.partition(": ")]
        if pattern != "words" and number * 1000 > MATCHES_MAX * found[f"{package}: words"]
    }
