"""Work IDs as SQL reads them: the parts that ``jobs.work_ids`` writes. The functions take expressions for them."""


def divisible(job: str) -> str:
    """Whether this job, given by its alias, is to be split once it has failed for good.

    There is more than one ID where there is a second part, or a second number in the first.
    """
    return f"({job}.bisect AND ({job}.work_ids -> 1 IS NOT NULL OR {job}.work_ids -> 0 -> 1 IS NOT NULL))"


def shared(one: str, other: str) -> str:
    """Whether the two have an ID in common."""
    return f"(coalesce({_numbers(one)} && {_numbers(other)}, false) OR {one} ?| {_texts(other)})"


def together(parts: str, halves: str) -> str:
    """Whether these are the IDs of the halves, a query for the parts of each; none of them is in both."""
    both = (
        f"(SELECT jsonb_agg(part) FROM ({halves}) half (parts), jsonb_array_elements(half.parts) each (part))"
    )
    return f"""(
        {_numbers(parts)} IS NOT DISTINCT FROM {_numbers(both)}
        AND {_texts(parts)} = {_texts(both)} AND {_count(parts)} = {_count(both)}
    )"""


def _numbers(parts: str) -> str:
    """A run is told by the number after its last, so that two which meet become one; numeric, for that may be 2^63."""
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
