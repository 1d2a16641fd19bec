"""``{name}`` placeholders in a text: find them and fill in the values. A literal brace is written twice."""

import re
from collections.abc import Iterator, Mapping

from sluice.jobs.job import Claimed
from sluice.jobs.work_ids import text_of

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


def fill(text: str, values: Mapping[str, object]) -> str:
    """Return the text with the unquoted values, for texts that are not commands. KeyError if a value is missing."""
    return "".join(
        piece["text"] or (piece["brace"][0] if piece["brace"] else str(values[piece["name"]]))
        for piece in pieces(text)
    )


def values_of(claimed: Claimed) -> dict[str, object]:
    """Return the values of the placeholders. The app's identifiers override the other names because its author chose
    them.
    """
    values: dict[str, object] = dict(zip(OF_EVERY_JOB, (claimed.name.app, claimed.name.key), strict=True))
    if claimed.work_ids is not None:
        values["work_ids"] = text_of(claimed.work_ids)
    if claimed.span is not None:
        values["start"], values["end"] = claimed.span
        values["partitions"] = ",".join(claimed.partitions)
        values |= {"table": claimed.table, "version": claimed.version}
    return values | dict(claimed.ids)
