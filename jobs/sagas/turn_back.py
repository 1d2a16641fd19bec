"""Reasons for the undo of a flight in which nothing has failed."""

from enum import StrEnum


class TurnBack(StrEnum):
    """Abort reason. The flight is undone from its current position."""

    UNWANTED = "nobody wants it any more"
    CANCELLED = "it was cancelled"
    EXPIRED = "its end_before has passed"
