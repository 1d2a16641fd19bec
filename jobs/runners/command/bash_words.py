"""Words of a command that the shell evaluates as code, determined by the command that receives them.

``jobs.runners.command.evaluated_values`` splits a command into these words, and finds the places that do not depend on
a command.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from msgspec import Struct

ARITHMETIC: Final = "is part of an arithmetic expression"
SUBSCRIPT: Final = "is in the subscript of an array, which is an arithmetic expression"
NAME: Final = "is in the name of a variable"
CODE: Final = "is in a text that a shell runs as a command"

#: Stands for a placeholder in the text of a word.
HOLE: Final = "\0"
_COMPARISONS: Final = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_SHELLS: Final = frozenset(("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash"))
#: Words that may precede the name of a command.
_BEFORE: Final = frozenset(
    ("!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "builtin", "command", "exec")
)
#: Commands whose arguments are all evaluated.
_WHOLE: Final = {"eval": CODE, "trap": CODE, "let": ARITHMETIC}
_DECLARING: Final = frozenset(("declare", "typeset", "local", "export", "readonly"))
_NAMING: Final = frozenset(("read", "unset", "mapfile", "readarray", "getopts"))
_TESTING: Final = frozenset(("-v", "-R"))
_ASSIGNS: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_SUBSCRIPTED: Final = re.compile(r"[A-Za-z_]\w*\[[^\]]*\0[^\]]*\]\+?=")
_NAMED: Final = re.compile(r"\0|[A-Za-z_]\w*\[?[^=]*\0")
_REDIRECTION: Final = re.compile(r"\d*(?:<|>|<<<|>>|<>|>\||&>|&>>)")


class Word(Struct):
    """Word of a command without its quotes, and the placeholders in it."""

    text: str = ""
    names: set[str] = set()


def tested(words: list[Word]) -> Iterator[tuple[Word, str]]:
    """Yield the evaluated words of a ``[[ ]]``, each with the reason."""
    for place, word in enumerate(words):
        if word.text in _COMPARISONS:
            yield from ((each, ARITHMETIC) for each in words[max(0, place - 1) : place + 2])
        elif word.text in _TESTING:
            yield from ((each, NAME) for each in words[place + 1 : place + 2])


def of_command(words: list[Word]) -> Iterator[tuple[Word, str]]:
    yield from ((word, SUBSCRIPT) for word in words if _SUBSCRIPTED.match(word.text))
    yield from ((word, CODE) for word in _bodies(words))
    rest = words
    while rest and (rest[0].text in _BEFORE or _ASSIGNS.match(rest[0].text)):
        rest = rest[1:]
    if not rest:
        return
    arguments = [word for before, word in pairwise(rest) if not _REDIRECTION.fullmatch(before.text)]
    yield from _of_arguments(rest[0].text, arguments)


def _of_arguments(command: str, arguments: list[Word]) -> Iterator[tuple[Word, str]]:
    whole = _WHOLE.get(command)
    if command in _DECLARING and any(_is_option(word, "i") for word in arguments):
        whole = ARITHMETIC
    if whole:
        yield from ((word, whole) for word in arguments)
    elif command in _DECLARING or command in _NAMING:
        yield from ((word, NAME) for word in arguments if _NAMED.match(word.text))
    elif command in ("printf", "test", "["):
        yield from ((word, NAME) for before, word in pairwise(arguments) if before.text in _TESTING)


def _bodies(words: list[Word]) -> Iterator[Word]:
    """Yield the word after each ``-c`` of a shell, whichever command starts that shell."""
    runs = takes = skips = False
    for word in words:
        if skips:  # The value of ``-o``.
            skips = False
        elif word.text.rpartition("/")[2] in _SHELLS:
            runs, takes = True, False
        elif runs and word.text.startswith(("-", "+")):
            takes, skips = takes or _is_option(word, "c"), word.text.endswith(("o", "O"))
        elif runs:
            if takes:
                yield word
            runs = False


def _is_option(word: Word, letter: str) -> bool:
    return re.fullmatch(rf"-[A-Za-z]*{letter}[A-Za-z]*", word.text) is not None
