"""Why a flight is undone though nothing has failed."""

from enum import StrEnum


class TurnBack(StrEnum):
    """It is called off, and goes back from wherever it is."""

    UNWANTED = "nobody wants it any more"
    CANCELLED = "it was cancelled"
    EXPIRED = "its end_before has passed"
