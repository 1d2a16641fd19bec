"""Conditions as text: ``state in (failed, fatal) and (inputs.num > 9 or app = trip) and ended is null``.

    either      both ("or" both)*
    both        one ("and" one)*
    one         "not" one | "(" either ")" | subject what
    what        ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | ["not"] "in" "(" value ("," value)* ")"
                | "is" ["not"] "null"
    subject     app, key, state, round, priority, created, changed, ended, type, submission, inputs.NAME,
                inputs.NAME.INNER

The subject determines how its value is read: a time as commands read times, a name literally. The value of an input
is JSON; a word that is not JSON is a text. Single or double quotes make a text; a quote inside is doubled. The
keywords may be written in upper case.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import NoReturn

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.text.filters import (
    DEPTH_MAX,
    NUMBERS,
    TIMES,
    And,
    Compare,
    Condition,
    Field,
    Input,
    Not,
    Operator,
    Or,
    check_value,
    comparisons,
)
from sluice.jobs.text.units import past

#: Longest text in characters: room for some hundred comparisons. A program should build larger conditions itself.
CHARS_MAX = 20_000
#: Characters of the text that an error message quotes.
_EXCERPT_CHARS = 30

_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*\""""
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<input>inputs(?:\.(?:{_QUOTED}|[^\s.()=!<>,'"\[\]{{}}]+))+(?![^\s()=!<>,]))
    | (?P<mark>[(),])
    | (?P<operator>[=!<>]+)
    | (?P<quoted>{_QUOTED})
    | (?P<json>[\[{{])
    | (?P<word>[^\s()=!<>,'"\[\]{{}}]+)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_NAME = re.compile(rf"\.({_QUOTED}|[^.'\"]+)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_CONSTANTS = {"true": True, "false": False, "null": None}


class Token(Struct, frozen=True):
    """One token of the text and its position. ``value`` is the decoded value of JSON or quotes."""

    kind: str
    text: str
    at: int
    value: object = None

    def says(self, *words: str) -> bool:
        """Return whether the token is a word or mark from this list."""
        return self.kind in ("word", "mark") and self.text.lower() in words


def parse_condition(text: str, now: datetime) -> Condition:
    """Return the condition that a text describes. Raises BadRequest with the position of the error.

    A relative time, for example ``2h``, counts back from ``now``.
    """
    if len(text) > CHARS_MAX:
        raise BadRequest(
            f"A condition of {len(text)} characters is more than {CHARS_MAX}.",
            advice="Use a smaller condition, or use the Python client.",
        )
    reading = _Reading(text, now)
    condition = reading.either(1)
    if reading.next.kind != "end":
        reading.fail(f"{_told(reading.next)} does not belong here; conditions are joined by and, or")
    comparisons(condition)
    return condition


class _Reading:
    """Parser of one text. ``next`` is the first token that has not been read."""

    def __init__(self, text: str, now: datetime) -> None:
        self._text = text
        self._now = now
        self._tokens = _tokens(text)
        self.next = next(self._tokens)

    def either(self, depth: int) -> Condition:
        found = [self._both(depth)]
        while self._take("or"):
            found.append(self._both(depth))
        return found[0] if len(found) == 1 else Or(tuple(found))

    def fail(self, what: str, token: Token | None = None) -> NoReturn:
        _fail(self._text, (token or self.next).at, what)

    def _both(self, depth: int) -> Condition:
        found = [self._one(depth)]
        while self._take("and"):
            found.append(self._one(depth))
        return found[0] if len(found) == 1 else And(tuple(found))

    def _one(self, depth: int) -> Condition:
        # This limits the recursion over parentheses and ``not``. The depth of the tree is checked at the end.
        if depth > DEPTH_MAX:
            self.fail(f"it nests deeper than {DEPTH_MAX} levels")
        if self._take("not"):
            return Not(self._one(depth + 1))
        if self._take("("):
            inner = self.either(depth + 1)
            self._require(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        first = self.next
        subject = self._subject()
        if self._take("is"):
            operator = Operator.UNEQUAL if self._take("not") else Operator.EQUAL
            self._require("null")
            return self._compare(first, subject, operator, None)
        if self._take("in"):
            return self._compare(first, subject, Operator.IN, self._values(subject, Operator.IN))
        if self._take("not"):
            self._require("in")
            return self._compare(first, subject, Operator.NOT_IN, self._values(subject, Operator.NOT_IN))
        token = self._read()
        if token.kind != "operator" or token.text not in list(Operator):
            self.fail(
                f"{_told(token)} is not followed by a comparison; write =, !=, <, <=, >, >=, in (…) or is null",
                token,
            )
        operator = Operator(token.text)
        return self._compare(first, subject, operator, self._value(subject, operator))

    def _compare(self, first: Token, subject: Field | Input, operator: Operator, value: object) -> Condition:
        try:
            return Compare(subject, operator, value)
        except ValueError as error:
            self.fail(str(error), first)

    def _subject(self) -> Field | Input:
        token = self._read()
        if token.kind == "input":
            return self._input(token)
        name = token.text.lower()
        if token.kind != "word" or name not in list(Field):
            self.fail(
                f"{_told(token)} is no field of a condition; there are {', '.join(Field)} and inputs.NAME",
                token,
            )
        return Field(name)

    def _input(self, token: Token) -> Input:
        try:
            return Input(tuple(map(_unquoted, _NAME.findall(token.text))))
        except ValueError as error:
            self.fail(str(error), token)

    def _values(self, subject: Field | Input, operator: Operator) -> tuple[object, ...]:
        self._require("(")
        found = [self._value(subject, operator)]
        while self._take(","):
            found.append(self._value(subject, operator))
        self._require(")")
        return tuple(found)

    def _value(self, subject: Field | Input, operator: Operator) -> object:
        token = self._read()
        if token.kind in ("mark", "operator", "end"):
            self.fail(f"a value is missing before {_told(token)}", token)
        try:
            value = _read_as(subject, token, self._now)
            check_value(subject, operator, value)
        except ValueError as error:
            self.fail(str(error), token)
        return value

    def _read(self) -> Token:
        token = self.next
        if token.kind != "end":
            self.next = next(self._tokens)
        return token

    def _take(self, word: str) -> bool:
        is_there = self.next.says(word)
        if is_there:
            self._read()
        return is_there

    def _require(self, word: str) -> None:
        if not self._take(word):
            self.fail(f"{word} is missing before {_told(self.next)}")


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            _fail(text, at, "this quote is never closed" if text[at] in "\"'" else "this cannot be read")
        kind = str(found.lastgroup)
        begin, at = found.span(kind)
        value: object = None
        if kind == "quoted":
            value = _unquoted(found[kind])
        elif kind == "json":
            value, at = _decoded(text, begin)
        elif kind in ("input", "word"):
            value = found[kind]
        yield Token(kind, text[begin:at], begin, value)


def _decoded(text: str, at: int) -> tuple[object, int]:
    """Return the list or object that begins at this position, and the position of its end."""
    try:
        return json.JSONDecoder(parse_constant=float).raw_decode(text, at)
    except RecursionError:
        _fail(text, at, "this nests too deeply")
    except json.JSONDecodeError as error:
        _fail(text, error.pos, f"the JSON that begins at character {at + 1} ends here: {error.msg}")
    except ValueError:
        _fail(text, at, "it has a number of too many digits")


def _read_as(subject: Field | Input, token: Token, now: datetime) -> object:
    """Return the value of a token for this subject. Raises ValueError if it cannot be read so."""
    if token.kind in ("quoted", "json") and isinstance(subject, Input):
        return token.value
    if token.kind != "quoted" and token.text.lower() in _CONSTANTS:
        return (
            _CONSTANTS[token.text.lower()] if isinstance(subject, Input) or token.says("null") else token.text
        )
    if isinstance(subject, Input):
        return _number(token.text) if _NUMBER.fullmatch(token.text) else token.text
    text = str(token.value) if token.kind == "quoted" else token.text
    if subject in TIMES:
        return past(text, now)
    if subject in NUMBERS and _WHOLE.fullmatch(text):
        return int(text)
    return text


def _number(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError("a number with too many digits cannot be read") from None


def _unquoted(text: str) -> str:
    quote = text[:1]
    return text[1:-1].replace(quote * 2, quote) if quote in ("'", '"') else text


def _told(token: Token) -> str:
    return "the end" if token.kind == "end" else repr(_excerpt(token.text))


def _fail(text: str, at: int, what: str) -> NoReturn:
    place = f"at {_excerpt(text[at:])!r}" if text[at:] else "where it ends"
    raise BadRequest(
        f"The condition cannot be read: {what}.",
        where=f"character {at + 1}, {place}",
        advice="Write it like state in (failed, fatal) and (inputs.num > 9 or app = trip) and ended is null",
    )


def _excerpt(text: str) -> str:
    return text if len(text) <= _EXCERPT_CHARS else f"{text[:_EXCERPT_CHARS]}…"
