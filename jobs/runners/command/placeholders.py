"""Placeholders in texts and commands: ``{name}`` is replaced by a value, and a literal brace is written twice.

``fill_braces`` fills texts that are not commands. ``fill`` fills shell commands, in which a value never becomes code.

In a command, a value of harmless characters is inserted as it is, at any position. Any other value is assigned to a
shell variable at the very beginning, where its quoting is certain, and the command refers to the variable. Inserting
``shlex.quote(value)`` at the placeholder would be safe only between words. Inside the double quotes of ``"{name}"``, in
a comment or in a here-document, the shell would run the value. The reference is written to fit the quotes around it. If
they are misread (a here-document, a nested substitution), the value may come out with quotes or split into words, but
never as code.

No quoting helps if a shell evaluates a text as code. ``jobs.runners.command.evaluated_values`` finds such places, and a
definition with one is refused unless the value is a number or a day. Quoting does not help either if a program reads a
value with a leading ``-`` as an option. Write ``--`` before such a value.
"""

import re
import shlex
from collections.abc import Iterator, Mapping

from sluice.jobs.keys.work_ids import text_of
from sluice.jobs.model.job import RunContext

_HARMLESS = re.compile(r"[A-Za-z0-9_@%+:,./-]+")
#: For each state of a shell's parser, the marks that end it or begin another; ``#`` is a comment.
_MARKS = {
    "": re.compile(r"""\\.|(?<!\S)\#|["']""", re.DOTALL),
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile("'"),
    "#": re.compile("\n"),
}
_REFERENCES = {"": '"${%s}"', '"': "${%s}", "'": "'\"${%s}\"'", "#": "${%s}"}


def placeholders(command: str) -> list[str]:
    """Return the names of the placeholders, with repeats. ValueError if a placeholder could not be filled."""
    return [piece["name"] for piece, _ in _read(command) if piece["name"] is not None]


def fill(command: str, values: Mapping[str, object]) -> str:
    """Return the command with its values. ValueError names a value that is missing or cannot be filled in."""
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
    """Yield the parts, each with the kind of quotes around it. ValueError for ``${name}``, which is a mistake."""
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
        raise ValueError(f"there is no value for {unknown}; write a literal brace twice")
    for name in names:
        if "\x00" in str(values[name]):
            raise ValueError(f"the value of {{{name}}} has a NUL, which cannot be passed to a command")


def _harmless(value: str, *, before: str) -> bool:
    """Return whether the shell reads the value literally. Digits before ``<`` or ``>`` name a descriptor."""
    return _HARMLESS.fullmatch(value) is not None and not (value.isdecimal() and before in {"<", ">"})


def _behind_dollar(text: str) -> bool:
    """Return whether the text ends with an unescaped ``$``, which would make the value the name of a variable."""
    bare = text.rstrip("$")
    dollars, escapes = len(text) - len(bare), len(bare) - len(bare.rstrip("\\"))
    return dollars > 0 and (dollars - escapes % 2) % 2 == 1


def _quotes_after(command: str, span: tuple[int, int], quotes: str) -> str:
    """Return the parser state after this piece, given the state ``quotes`` before it."""
    at, end = span
    while mark := _MARKS[quotes].search(command, at, end):
        at = mark.end()
        if not mark[0].startswith("\\"):
            quotes = "" if quotes else mark[0]
    return quotes


#: Values that every job has, whatever its identifiers are called.
OF_EVERY_JOB = ("app_name", "job_id")

_PIECES = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<name>[^{}]*)\}|(?P<stray>[{}])|(?P<text>[^{}]+)")


def pieces(text: str) -> Iterator[re.Match[str]]:
    """Yield the parts of a text in order: each is a ``name``, a ``brace`` or a ``text``. ValueError for any other
    brace.
    """
    for piece in _PIECES.finditer(text):
        if piece["stray"]:
            raise ValueError(f"a single {piece['stray']} at character {piece.start() + 1}; write it twice")
        yield piece


def names(text: str) -> list[str]:
    """Return the names of the placeholders, in order and with repeats."""
    return [piece["name"] for piece in pieces(text) if piece["name"] is not None]


def fill_braces(text: str, values: Mapping[str, object]) -> str:
    """Return the text with the unquoted values, for texts that are not commands. KeyError if a value is missing."""
    return "".join(
        piece["text"] or (piece["brace"][0] if piece["brace"] else str(values[piece["name"]]))
        for piece in pieces(text)
    )


def values_of(claimed: RunContext) -> dict[str, object]:
    """Return the values of the placeholders. The app's identifiers override the other names because its author chose
    them.
    """
    values: dict[str, object] = dict(zip(OF_EVERY_JOB, (claimed.name.app, claimed.name.key), strict=True))
    if claimed.work_ids is not None:
        values["work_ids"] = text_of(claimed.work_ids)
    if claimed.span is not None:
        values["start"], values["end"] = claimed.span
        values["partitions"] = ",".join(claimed.partitions)
        values |= {"table": claimed.table, "version": claimed.version, **claimed.by}
    return values | dict(claimed.ids)
