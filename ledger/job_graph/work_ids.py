"""SQL about the work IDs of chunks, which are stored in parts (``jobs.keys.work_ids``)."""


def is_divisible(job: str) -> str:
    """Return SQL that is true if the job, given by its alias, is split when it fails for good.

    It has more than one ID if a second part exists, or if the first part has a second number.
    """
    return f"({job}.bisect AND ({job}.work_ids -> 1 IS NOT NULL OR {job}.work_ids -> 0 -> 1 IS NOT NULL))"


def overlaps(one: str, other: str) -> str:
    """Return SQL that is true if the two have an ID in common."""
    return f"(coalesce({_numbers(one)} && {_numbers(other)}, false) OR {one} ?| {_texts(other)})"


def is_union(parts: str, halves: str) -> str:
    """Return SQL that is true if the halves together have exactly these IDs, and no ID twice.

    ``halves`` is a query for the parts of each half.
    """
    both = (
        f"(SELECT jsonb_agg(part) FROM ({halves}) half (parts), jsonb_array_elements(half.parts) each (part))"
    )
    return f"""(
        {_numbers(parts)} IS NOT DISTINCT FROM {_numbers(both)}
        AND {_texts(parts)} = {_texts(both)} AND {_count(parts)} = {_count(both)}
    )"""


def _numbers(parts: str) -> str:
    """Return SQL for the numbers as a multirange.

    A range ends before the number after its last one, so that adjacent ranges merge. It is numeric, because that number
    may be 2^63.
    """
    return f"""(
        SELECT range_agg(numrange((part ->> 0)::numeric, (part ->> -1)::numeric + 1))
        FROM jsonb_array_elements({parts}) each (part) WHERE jsonb_typeof(part) = 'array')"""


def _texts(parts: str) -> str:
    return f"""ARRAY(
        SELECT part #>> '{{}}' FROM jsonb_array_elements({parts}) each (part)
        WHERE jsonb_typeof(part) = 'string' ORDER BY 1)"""


def _count(parts: str) -> str:
    return f"""(
        SELECT sum(CASE jsonb_typeof(part) WHEN 'string' THEN 1
                   ELSE (part ->> -1)::numeric - (part ->> 0)::numeric + 1 END)
        FROM jsonb_array_elements({parts}) each (part))"""
