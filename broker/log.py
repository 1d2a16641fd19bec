"""Log of this package. One line per event; the content of messages is not logged."""

import logging

LOG = logging.getLogger("sluice.broker")

LINE_LENGTH_MAX = 300


def one_line(what: object) -> str:
    """Return an error or a text as one line of bounded length."""
    text = " ".join(str(what).split()) or type(what).__name__
    return text if len(text) <= LINE_LENGTH_MAX else text[:LINE_LENGTH_MAX] + " …"
