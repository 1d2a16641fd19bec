"""``{name}`` in a text: what it asks for, and the text with the values. A brace that is meant is written twice."""

import re
from collections.abc import Iterator, Mapping

from sluice.jobs.job import Claimed
from sluice.jobs.work_ids import text_of

#: What any job has, whatever its identifiers are called.
OF_EVERY_JOB = ("app_name", "job_id")

_PIECES = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<name>[^{}]*)\}|(?P<stray>[{}])|(?P<text>[^{}]+)")


def pieces(text: str) -> Iterator[re.Match[str]]:
    """Its parts in order, each a ``name``, a ``brace`` or ``text``; ValueError for a brace that is none of these."""
    for piece in _PIECES.finditer(text):
        if piece["stray"]:
            raise ValueError(f"a single {piece['stray']} at character {piece.start() + 1}; write it twice")
        yield piece


def names(text: str) -> list[str]:
    """What it asks for, in order and with repeats."""
    return [piece["name"] for piece in pieces(text) if piece["name"] is not None]


def fill(text: str, values: Mapping[str, object]) -> str:
    """The text with the values as they are, for what is no command; KeyError where one is missing."""
    return "".join(
        piece["text"] or (piece["brace"][0] if piece["brace"] else str(values[piece["name"]]))
        for piece in pieces(text)
    )


def values_of(claimed: Claimed) -> dict[str, object]:
    """What the names stand for. The identifiers of the app come last: its author chose those names."""
    values: dict[str, object] = dict(zip(OF_EVERY_JOB, (claimed.name.app, claimed.name.key), strict=True))
    if claimed.work_ids is not None:
        values["work_ids"] = text_of(claimed.work_ids)
    if claimed.span is not None:
        values["start"], values["end"] = claimed.span
        values["partitions"] = ",".join(claimed.partitions)
        values |= {"table": claimed.table, "version": claimed.version}
    return values | dict(claimed.ids)
