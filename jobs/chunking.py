"""How the jobs of an app that is keyed by chunk come about.

A submission is about work IDs. They are cut into chunks, each a job; the apps it depends on are cut likewise, each
by its own size, and run only on what is not fresh (see ``planner.chunks``).
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from sluice.jobs.submission import JSON


class Dependency(Struct, frozen=True, kw_only=True):
    """One app whose results are needed on the same work IDs.

    Those that ran no longer than ``lag_s_max`` ago are fresh; of zero nothing is. With ``any_ids`` it is enough that
    the app as a whole ran as lately, whichever IDs it was asked for. A ``unique`` one is this parent's own, others
    are shared. ``kwargs`` are handed to it and to all below it.
    """

    app: str
    lag_s_max: float
    kwargs: Mapping[str, JSON] = {}
    any_ids: bool = False
    unique: bool = False


class Chunking(Struct, frozen=True, kw_only=True):
    """``size``: so many work IDs make one job. ``select`` says which IDs a submission that names none is about, else
    ``default_ids`` does; both are called with the submission's kwargs. ``freshness_by`` names the kwargs of which
    each value is fresh or stale by itself. Sources and sinks are for people.
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
