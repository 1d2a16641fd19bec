"""Work IDs of an app that is keyed by chunk: whole numbers or texts.

Lists of them are sorted, numbers before texts, without duplicates. They are stored as *parts*: a run of numbers is
its first and its last, ``[[1, 3], [7], "north"]``. People write ``1-3,7``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import msgspec

from sluice.jobs.model.submission import JSON

WorkId: TypeAlias = int | str
#: A run of whole numbers by its first and last, a single number, or a text.
Part: TypeAlias = tuple[int, int] | tuple[int] | str

#: IDs of one submission: a million. A planner uses 140 MB for them, and up to 600 MB if each is a job of its own. Ten
#: million took 2.8 GB, although a range of them is written in 12 characters.
IDS_MAX = 1_000_000
TEXT_CHARACTERS_MAX = 200
_NUMBER_MAX = 2**63 - 1
#: Longest text of parts in characters. Longer ones are shortened to the first ID, the last ID and their number.
_SHORT_CHARACTERS = 60

_NUMBER = re.compile(r"-?\d+")
_RUN = re.compile(r"(-?\d+)-(-?\d+)")
_MISTAKABLE = re.compile(r"[\\,]|\.\.")
_FRACTION = re.compile(r"-?(\d+\.\d*|\.\d+)")


def parse_work_ids(raw: JSON) -> tuple[WorkId, ...]:
    """Return the IDs of a list, which may contain runs as lists, or of a text like ``1-3,7``.

    A text contains numbers if all of its parts are numbers. A text that begins with a bracket is a JSON list. Raises
    ValueError with the reason if the IDs are invalid.
    """
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        raw = _listed(raw)
    if isinstance(raw, list | tuple) and set(map(type, raw)) == {int} and len(raw) <= IDS_MAX:
        return tuple(sorted({*raw, _number(min(raw)), _number(max(raw))}))
    ids: set[WorkId] = set()
    total = 0
    for part in _parts_of_text(raw) if isinstance(raw, str) else _parts_of_list(raw):
        total += 1 if isinstance(part, str) else part[-1] - part[0] + 1
        if total > IDS_MAX:
            raise ValueError(f"these are more than {IDS_MAX:,} work IDs")
        ids.update([part] if isinstance(part, str) else range(part[0], part[-1] + 1))
    found = tuple(sorted(ids, key=in_order))
    _refuse_doubtful(found)
    return found


def in_order(work_id: WorkId) -> tuple[bool, WorkId]:
    """Return the sort key of a work ID."""
    return isinstance(work_id, str), work_id


def parts_of(ids: Sequence[WorkId]) -> list[Part]:
    """Return sorted IDs as parts."""
    texts = [each for each in ids if isinstance(each, str)]
    numbers = [each for each in ids if isinstance(each, int)]
    if not numbers:
        return [*texts]
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after != before + 1)]
    ends = [*(before for before, after in pairwise(numbers) if after != before + 1), numbers[-1]]
    runs = [(start, end) if end > start else (start,) for start, end in zip(starts, ends, strict=True)]
    return [*runs, *texts]


def ids_of(parts: Iterable[JSON]) -> Iterator[WorkId]:
    """Yield the IDs of parts, as ``parts_of`` writes them."""
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            yield from range(part[0], part[-1] + 1)


def text_of(ids: Sequence[WorkId]) -> str:
    """Return the IDs as text, for example ``1-3,7``. It can be parsed again, unless numbers and texts are mixed."""
    return ",".join(part if isinstance(part, str) else "-".join(map(str, part)) for part in parts_of(ids))


def short_text_of(ids: Sequence[WorkId]) -> str:
    """Return the text of the IDs if it is short, or else ``1..9000:400`` for 400 IDs from 1 to 9000.

    Characters in a text ID that could be confused with this syntax are escaped with a backslash. The result is part
    of a chunk's key. The chunks of a submission have no ID in common, so their texts must differ.
    """
    if len(ids) <= _SHORT_CHARACTERS or ids[-1] == _last_of_run(ids):
        text = text_of([_MISTAKABLE.sub(r"\\\g<0>", each) if isinstance(each, str) else each for each in ids])
        if len(text) <= _SHORT_CHARACTERS:
            return text
    return f"{ids[0]}..{ids[-1]}:{len(ids)}"


def _last_of_run(ids: Sequence[WorkId]) -> WorkId | None:
    """Return the last ID that these would have if they were one run."""
    return ids[0] + len(ids) - 1 if isinstance(ids[0], int) else None


def _listed(text: str) -> JSON:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{text!r} begins like a list but is none: {error}") from None


def _parts_of_text(text: str) -> Iterator[Part]:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    runs = [_NUMBER.fullmatch(part) or _RUN.fullmatch(part) for part in parts]
    for part, run in zip(parts, runs, strict=True):
        if not all(runs):
            yield _text(_whole(part))
        elif run:
            numbers = run.groups() or (run.group(),)
            yield _run([int(number) for number in numbers], part)


def _whole(part: str) -> str:
    """Return the part, unless it is a fraction: that is probably meant as a number. A list can contain it as a text."""
    if _FRACTION.fullmatch(part):
        raise ValueError(
            f'{part} is no work ID; work IDs are whole numbers or texts; for a text write ["{part}"]'
        )
    return part


def _parts_of_list(raw: JSON) -> Iterator[Part]:
    if not isinstance(raw, list | tuple):
        raise ValueError(f'{raw!r} is not a list of work IDs; write [1, 2, 3], [[1, 3], [7]] or "1-3,7"')
    for item in raw:
        if isinstance(item, str):
            yield _text(item)
        elif isinstance(item, list | tuple) and len(item) == 2:
            yield _run([_number(each) for each in item], item)
        elif isinstance(item, list | tuple):
            yield from ((_number(each),) for each in item)
        else:
            yield (_number(item),)


def _refuse_doubtful(ids: Sequence[WorkId]) -> None:
    """Raise ValueError for texts that look like numbers beside numbers.

    Keys and freshness records store IDs as text, in which 7 and "7" would be the same.
    """
    if not ids or isinstance(ids[0], str):
        return
    for each in reversed(ids):
        if isinstance(each, int):
            return
        if _NUMBER.fullmatch(each) or _RUN.fullmatch(each):
            raise ValueError(f"{each!r} is a text among numbers and looks like one; write it without quotes")


def _run(numbers: list[int], written: object) -> Part:
    first, last = numbers[0], numbers[-1]
    if last < first:
        raise ValueError(f"{written!r} ends before it begins")
    if max(abs(first), abs(last)) > _NUMBER_MAX:
        raise ValueError(f"{written!r} does not fit into 64 bits")
    return (first, last) if last > first else (first,)


def _number(item: object) -> int:
    if isinstance(item, bool) or not isinstance(item, int):
        raise ValueError(f"{item!r} is no work ID; work IDs are whole numbers or texts")
    if abs(item) > _NUMBER_MAX:
        raise ValueError(f"{item!r} does not fit into 64 bits")
    return item


def _text(item: str) -> str:
    if not item or len(item) > TEXT_CHARACTERS_MAX or not item.isprintable():
        shown = item if len(item) <= TEXT_CHARACTERS_MAX else f"{item[:20]}…"
        raise ValueError(
            f"{shown!r} is no work ID: a text has 1 to {TEXT_CHARACTERS_MAX} characters that can be printed"
        )
    return item
