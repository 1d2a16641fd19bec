"""Waits, where it is told to, for a file with the first of its IDs in its name; fails on the ID named ``poison``."""

from tests.live.nightly_notes import hold, note

STAU_CONFIG = {
    "chunk_size": 2,
    "dependencies": [{"job_type": "extract", "max_lag": 60}],
    "max_losses": 1000,
}


def main(work_ids: list[int], held: list[int], poison: int | None = None, **kwargs: object) -> None:
    note("clean", work_ids)
    if work_ids[0] in held:
        hold(work_ids[0])
    if poison in work_ids:
        raise ValueError(f"{poison} cannot be cleaned")
