"""Kwargs that are too large for the row of a job, and the place where the ledger stores them."""

import random
from collections.abc import Mapping
from typing import Any

from sluice.ledger.job_graph.shared_kwargs import OWN_BYTES_MAX
from tests.world import World


def large(seed: int = 1, size: int = 2 * OWN_BYTES_MAX) -> dict[str, Any]:
    """Return kwargs of about this many bytes, which do not compress."""
    return {"blob": random.Random(seed).randbytes(size // 2).hex(), "place": {"region": f"r{seed}"}}


def shared(world: World) -> list[Mapping[str, Any]]:
    """Return the kwargs in ``shared_kwargs``."""
    return world.ledger.transact(lambda tx: tx.column("SELECT kwargs FROM shared_kwargs ORDER BY at, digest"))


def is_shared(world: World, job: str) -> bool:
    """Return whether the job refers to shared kwargs, and has none in its row."""
    return isinstance(world.field(job, "kwargs"), str)
