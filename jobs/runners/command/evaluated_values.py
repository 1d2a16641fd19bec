"""Places in a shell command at which the shell evaluates a value as code, which no quoting prevents.

In arithmetic, bash reads a text as an expression, in which ``a[$(…)]`` runs a command: ``$(( ))``, ``(( ))``, ``$[ ]``,
``let``, ``declare -i``, subscripts, offsets (``${x:OFFSET}``), and the operands of ``-eq``, ``-lt`` and the like in
``[[ ]]``. The name of a variable may contain such a subscript, too. ``eval``, ``trap`` and the ``-c`` of a shell run a
text.

This module parses a command only as far as needed to distinguish these places from others. In doubt, as with an
argument that looks like an assignment to an array, it reports a place. Undetected cases are documented in
``docs/commands.md``.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from sluice.jobs.runners.command.bash_words import ARITHMETIC, HOLE, NAME, SUBSCRIPT, Word, of_command, tested
from sluice.jobs.runners.command.placeholders import pieces

_SPACE: Final = frozenset(" \t")
_ENDS: Final = frozenset("\n;&|()`")
_HERE: Final = re.compile(r"(?P<tabs>-?)[ \t]*(?P<word>\S+)")


class _Frame(Struct):
    """State of the parser until ``end``. ``why`` is the way in which a placeholder here is evaluated, or None.
    ``depth`` counts open parentheses.
    """

    end: str
    why: str | None = None
    quoted: bool = False
    depth: int = 0
    words: list[Word] | None = None
    word: Word | None = None
    tests: bool = False


class _HereDocument(Struct, frozen=True, kw_only=True):
    """Text behind ``<<``, up to a line that is ``delimiter``. Behind ``<<-`` the shell strips tabs from its lines."""

    delimiter: str
    expands: bool
    strips_tabs: bool


def evaluated(command: str) -> dict[str, str]:
    """Return the placeholders of a command that a shell evaluates again, each with the construct that contains it."""
    return _Reader(command).read()


class _Reader:
    """Parser that reads a command once, unit by unit. A unit is a character, or a placeholder with its braces."""

    def __init__(self, command: str) -> None:
        self._units = list(_units(command))
        self._at = 0
        self._found: dict[str, str] = {}
        self._stack = [_Frame(end="", words=[])]
        self._here: list[_HereDocument] = []

    def read(self) -> dict[str, str]:
        while self._at < len(self._units):
            self._step(self._units[self._at])
        while self._stack:
            self._leave()
        return self._found

    def _step(self, unit: str) -> None:
        frame = self._stack[-1]
        if len(unit) > 1:
            self._hole(unit[1:-1])
        elif unit == "\\":
            self._literal("".join(self._units[self._at + 1 : self._at + 2]) or "\\", skip=2)
        elif unit == "\n" and self._here:
            self._here_documents()
        elif frame.end and frame.depth == 0 and self._is_next(frame.end):
            self._at += len(frame.end)
            self._leave()
        elif not self._opens(frame) and not self._parts(frame, unit):
            self._literal(unit)

    def _opens(self, frame: _Frame) -> bool:
        """Enter a construct with its own syntax if one begins here. Return whether one did."""
        for opening, made in _OPENINGS:
            if self._is_next(opening):
                self._enter(len(opening), made())
                return True
        if self._is_next("${"):
            self._parameter()
            return True
        return not frame.quoted and self._opens_unquoted(frame)

    def _opens_unquoted(self, frame: _Frame) -> bool:
        if self._is_next("'") or self._is_next("$'"):
            self._single(ansi=self._is_next("$'"))
            return True
        if frame.words is None:
            return False
        return (frame.word is None and self._opens_at_word(frame)) or (
            not frame.tests and self._opens_in_command(frame)
        )

    def _opens_at_word(self, frame: _Frame) -> bool:
        """Enter a construct that is recognized only where a word may begin. Return whether there is one."""
        if self._is_next("(("):
            self._enter(2, _Frame(end="))", why=ARITHMETIC))
        elif self._is_next("[[") and not frame.tests:
            self._enter(2, _Frame(end="]]", words=[], tests=True))
        elif self._is_next("#"):
            while self._at < len(self._units) and self._units[self._at] != "\n":
                self._at += 1
        else:
            return False
        return True

    def _opens_in_command(self, frame: _Frame) -> bool:
        """Enter a here-document or a subshell, which ``[[ ]]`` cannot contain. Return whether there is one."""
        if self._is_next("<<"):
            self._redirect()
        elif self._is_next("("):
            self._end_command(frame)
            self._enter(1, _Frame(end=")", words=[]))
        else:
            return False
        return True

    def _parts(self, frame: _Frame, unit: str) -> bool:
        """Consume a character that ends a word, and return whether it did. In an expression, only count parentheses."""
        if frame.words is None:
            if frame.why is not None and unit in "()":
                frame.depth = max(0, frame.depth + (1 if unit == "(" else -1))
            return False
        ends = unit in _ENDS and not frame.tests
        if not ends and unit not in _SPACE and unit != "\n":
            return False
        _end_word(frame)
        if ends:
            self._end_command(frame)
        self._at += 1
        return True

    def _enter(self, length: int, frame: _Frame) -> None:
        self._at += length
        self._stack.append(frame)

    def _leave(self) -> None:
        frame = self._stack.pop()
        if frame.words is not None:
            self._end_command(frame)

    def _is_next(self, text: str) -> bool:
        return self._units[self._at : self._at + len(text)] == list(text)

    def _literal(self, text: str, *, skip: int = 1) -> None:
        self._at += skip
        for frame in reversed(self._stack):
            if frame.words is not None:
                frame.word = frame.word or Word(names=set())
                frame.word.text += text
                return

    def _hole(self, name: str) -> None:
        self._literal(HOLE)
        for frame in self._stack:
            if frame.why is not None:
                self._found.setdefault(name, frame.why)
            if frame.words is not None:
                frame.word = frame.word or Word(names=set())
                frame.word.names.add(name)

    def _single(self, *, ansi: bool) -> None:
        self._at += 2 if ansi else 1
        self._literal("", skip=0)
        while self._at < len(self._units) and self._units[self._at] != "'":
            unit = self._units[self._at]
            if len(unit) > 1:
                self._hole(unit[1:-1])
            else:
                self._literal(unit, skip=2 if ansi and unit == "\\" else 1)
        self._at += 1

    def _parameter(self) -> None:
        """Read ``${…}``. A placeholder in the name, a subscript or an offset is evaluated; one in a default is not."""
        self._at += 2
        if self._is_next("!") or self._is_next("#"):
            self._at += 1
        while self._at < len(self._units) and re.fullmatch(r"\w|\{.+\}", unit := self._units[self._at]):
            if len(unit) > 1:
                self._found.setdefault(unit[1:-1], NAME)
            self._at += 1
        if self._is_next("["):
            height = len(self._stack)
            self._enter(1, _Frame(end="]", why=SUBSCRIPT))
            while len(self._stack) > height and self._at < len(self._units):
                self._step(self._units[self._at])
        is_offset = self._is_next(":") and not any(self._is_next(f":{sign}") for sign in "-=?+")
        self._stack.append(
            _Frame(end="}", why=ARITHMETIC if is_offset else None, quoted=self._stack[-1].quoted)
        )

    def _redirect(self) -> None:
        """Read ``<<`` or ``<<<``. The text of a here-document is read at the end of the line; ``<<<`` takes an ordinary
        word.
        """
        if self._is_next("<<<"):
            self._literal("<<<", skip=3)
            return
        self._at += 2
        line = "".join(self._units[self._at :]).partition("\n")[0]
        if found := _HERE.match(line):
            word = found["word"]
            self._here.append(
                _HereDocument(
                    delimiter=re.sub(r"[\\'\"]", "", word),
                    expands=not re.search(r"[\\'\"]", word),
                    strips_tabs=bool(found["tabs"]),
                )
            )
            self._at += len(found["tabs"])

    def _here_documents(self) -> None:
        """Read the here-documents up to their delimiters. Expressions in them are evaluated; quotes have no effect."""
        self._at += 1
        frame = self._stack[-1]
        for document in self._here:
            begun = self._at
            lines = "".join(unit if len(unit) == 1 else HOLE for unit in self._units[begun:]).split("\n")
            length = end = 0
            for line in lines:
                if (line.lstrip("\t") if document.strips_tabs else line) == document.delimiter:
                    end = len(line)
                    break
                length += len(line) + 1
            if document.expands:
                inner = _Reader("")
                inner._units, inner._stack = (
                    self._units[begun : begun + length],
                    [_Frame(end="", quoted=True)],
                )
                self._found = {**inner.read(), **self._found}
            self._at = begun + length + end
        self._here = []
        self._end_command(frame)

    def _end_command(self, frame: _Frame) -> None:
        _end_word(frame)
        words, frame.words = frame.words or [], []
        for word, why in tested(words) if frame.tests else of_command(words):
            for name in word.names:
                self._found.setdefault(name, why)


def _units(command: str) -> Iterator[str]:
    for piece in pieces(command):
        if piece["name"] is not None:
            yield piece[0]
        else:
            yield from piece["brace"][0] if piece["brace"] else piece["text"]


#: Constructs that begin the same way inside double quotes and outside. Longer ones come first.
_OPENINGS: Final[tuple[tuple[str, Callable[[], _Frame]], ...]] = (
    ("$((", lambda: _Frame(end="))", why=ARITHMETIC)),
    ("$[", lambda: _Frame(end="]", why=ARITHMETIC)),
    ("$(", lambda: _Frame(end=")", words=[])),
    ("`", lambda: _Frame(end="`", words=[])),
    ('"', lambda: _Frame(end='"', quoted=True)),
)


def _end_word(frame: _Frame) -> None:
    if frame.word is not None and frame.words is not None:
        frame.words.append(frame.word)
    frame.word = None
