"""App that the tests request."""

from tests.live.nightly_notes import note

STAU_CONFIG = {
    "chunk_size": 3,
    "dependencies": [{"job_type": "clean", "max_lag": 60}],
    "max_losses": 1000,
}


def main(work_ids: list[int], **kwargs: object) -> None:
    note("report", work_ids)
