"""Definition of how jobs are made for an app that is keyed by chunk.

A submission requests work IDs. They are cut into chunks, and each chunk is a job. The apps that it depends on are cut
in the same way, each by its own size. They run only for work IDs without fresh results (see
``planner.keyspaces.chunks.chunk_plan``).
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from sluice.jobs.model.submission import JSON


class Dependency(Struct, frozen=True, kw_only=True):
    """An app's results that are needed for the same work IDs.

    Results that are at most ``lag_s_max`` seconds old are fresh; with zero, no result is. With ``any_ids`` it is
    enough that the app succeeded recently for any work IDs. A ``unique`` dependency has jobs of its own for this
    parent; others share theirs. ``kwargs`` are passed to the dependency and to all of its own dependencies.
    """

    app: str
    lag_s_max: float
    kwargs: Mapping[str, JSON] = {}
    any_ids: bool = False
    unique: bool = False


class Chunking(Struct, frozen=True, kw_only=True):
    """Selection of an app's work IDs, and their cutting into chunks.

    ``size`` is the number of work IDs per job. ``select`` returns the work IDs of a submission that names none; if it
    is missing, ``default_ids`` does. Both are called with the submission's kwargs. ``freshness_by`` names kwargs:
    freshness is kept separately for each of their values. Sources and sinks are information for people.
    """

    size: int
    dependencies: tuple[Dependency, ...] = ()
    select: Callable[..., Any] | None = None
    select_path: str | None = None
    default_ids: Callable[..., Any] | None = None
    default_ids_path: str | None = None
    freshness_by: tuple[str, ...] = ()
    allow_multiple_jobs: bool = False
    data_sources: tuple[str, ...] = ()
    data_sinks: tuple[str, ...] = ()
