"""The room's log. One line an event; what a message holds stays out of it."""

import logging

LOG = logging.getLogger("sluice.broker")

LINE_LENGTH_MAX = 300


def one_line(what: object) -> str:
    """An error or text as one line of bounded length."""
    text = " ".join(str(what).split()) or type(what).__name__
    return text if len(text) <= LINE_LENGTH_MAX else text[:LINE_LENGTH_MAX] + " …"
