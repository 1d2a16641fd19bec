"""The word ``breaker``: when an app's jobs are held back because whatever they need seems to be dead."""

from msgspec import Struct

#: For so long its first pause lasts, and no later one lasts longer than this, where nothing else is said.
PAUSE_S = 30.0
PAUSE_S_MAX = 600.0


class Breaker(Struct, frozen=True, kw_only=True):
    """After so many failed rounds of the app in a row nobody begins its jobs for ``pause_s``. Then one is let through:
    if it succeeds all go on, if it fails the next pause is twice as long, up to ``pause_s_max``."""

    fails: int
    pause_s: float = PAUSE_S
    pause_s_max: float = PAUSE_S_MAX
