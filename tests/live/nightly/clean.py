"""An app that can be held and can fail.

A chunk waits for a file with its first ID in the name, if that ID is in ``held``. A chunk with the ID ``poison`` fails.
"""

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
