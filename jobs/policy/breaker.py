"""The option ``breaker``: holds back an app's jobs while a service that they need seems to be down."""

from msgspec import Struct

#: Defaults: seconds of the first pause, and the longest pause.
PAUSE_S = 30.0
PAUSE_S_MAX = 600.0


class Breaker(Struct, frozen=True, kw_only=True):
    """Breaker of an app.

    After ``fails`` failed rounds of the app in a row, no job of it is started for ``pause_s`` seconds. Then one job
    runs. If it succeeds, all jobs continue. If it fails, the next pause is twice as long, up to ``pause_s_max``.
    """

    fails: int
    pause_s: float = PAUSE_S
    pause_s_max: float = PAUSE_S_MAX
