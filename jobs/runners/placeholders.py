"""Values in a shell command: ``{name}`` becomes the value, and never becomes code.

A value of harmless characters stands in the command as it is, wherever it stands. Any other is
assigned to a shell variable at the very front, where its quoting is certain, and the command refers to
the variable. Putting ``shlex.quote(value)`` where the placeholder stands would be safe between words
only: inside the double quotes of ``"{name}"``, in a comment or in a here-document it runs the value.
The reference is written to fit the quotes around it; should they be misread (a here-document, a
nested substitution), the value may come out with quotes or split into words, but still not as code.

No quoting helps where a shell evaluates a text as code: ``jobs.runners.evaluated`` finds such places, and a definition
with one is refused unless the value is a number or a day. Nor does it help against a program that reads a value with a
leading ``-`` as an option (write ``--`` before it).
"""

import re
import shlex
from collections.abc import Iterator, Mapping

from sluice.jobs.runners.braces import pieces

_HARMLESS = re.compile(r"[A-Za-z0-9_@%+:,./-]+")
#: What ends each state of a shell's reading, or begins another; ``#`` is a comment.
_MARKS = {
    "": re.compile(r"""\\.|(?<!\S)\#|["']""", re.DOTALL),
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile("'"),
    "#": re.compile("\n"),
}
_REFERENCES = {"": '"${%s}"', '"': "${%s}", "'": "'\"${%s}\"'", "#": "${%s}"}


def placeholders(command: str) -> list[str]:
    """The names a command asks for, with repeats; ValueError where no values could be put in."""
    return [piece["name"] for piece, _ in _read(command) if piece["name"] is not None]


def fill(command: str, values: Mapping[str, object]) -> str:
    """The command with its values; ValueError names what cannot be filled in."""
    _check(command, values)
    variables: dict[str, str] = {}
    parts: list[str] = []
    for piece, quotes in _read(command):
        name = piece["name"]
        if name is None:
            parts.append(piece["brace"][0] if piece["brace"] else piece["text"])
        elif _harmless(str(values[name]), before=command[piece.end() : piece.end() + 1]):
            parts.append(str(values[name]))
        else:
            parts.append(_REFERENCES[quotes] % variables.setdefault(name, f"sluice_{len(variables)}"))
    assignments = (f"{variable}={shlex.quote(str(values[name]))}; " for name, variable in variables.items())
    return "".join(assignments) + "".join(parts)


def _read(command: str) -> Iterator[tuple[re.Match[str], str]]:
    """Its parts, each with the quotes that it stands in; ValueError for one that cannot be meant."""
    quotes = ""
    for piece in pieces(command):
        name = piece["name"]
        if name is not None and quotes in {"", '"'} and _behind_dollar(command[: piece.start()]):
            raise ValueError(
                f"${{{name}}}: write {{{name}}} for the value, ${{{{{name}}}}} for a shell variable"
            )
        yield piece, quotes
        if name is None:
            quotes = _quotes_after(command, piece.span(), quotes)


def _check(command: str, values: Mapping[str, object]) -> None:
    names = sorted(set(placeholders(command)))
    unknown = ", ".join(f"{{{name}}}" for name in names if name not in values)
    if unknown:
        raise ValueError(f"there is no value for {unknown}; a brace that is meant as such is written twice")
    for name in names:
        if "\x00" in str(values[name]):
            raise ValueError(f"the value of {{{name}}} has a NUL, which no command can be given")


def _harmless(value: str, *, before: str) -> bool:
    """Whether the value means itself to a shell. Digits before ``<`` or ``>`` name a descriptor."""
    return _HARMLESS.fullmatch(value) is not None and not (value.isdecimal() and before in {"<", ">"})


def _behind_dollar(text: str) -> bool:
    """Whether the text ends with a ``$`` that would take the value for the name of a variable."""
    bare = text.rstrip("$")
    dollars, escapes = len(text) - len(bare), len(bare) - len(bare.rstrip("\\"))
    return dollars > 0 and (dollars - escapes % 2) % 2 == 1


def _quotes_after(command: str, span: tuple[int, int], quotes: str) -> str:
    """What the shell is reading behind this piece, when in front of it it was reading ``quotes``."""
    at, end = span
    while mark := _MARKS[quotes].search(command, at, end):
        at = mark.end()
        if not mark[0].startswith("\\"):
            quotes = "" if quotes else mark[0]
    return quotes
