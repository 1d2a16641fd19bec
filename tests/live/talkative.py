"""A function that fails while secrets are in its arguments and environment. Its process logs at level DEBUG."""

import logging
import os

logging.getLogger().setLevel(logging.DEBUG)


def raises(n, page):
    raise ValueError("it went wrong", len(os.environ["FROM_OS"]))
