"""App that processes all work IDs in one chunk."""

from tests.live.nightly_notes import note

STAU_CONFIG = {"chunk_size": 6, "dependencies": [], "max_losses": 1000}


def main(work_ids: list[int], **kwargs: object) -> None:
    note("extract", work_ids)
