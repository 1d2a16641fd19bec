"""Functions that go wrong with what is secret near at hand, in processes that log all that there is to log."""

import logging
import os

logging.getLogger().setLevel(logging.DEBUG)


def raises(n, page):
    raise ValueError("it went wrong", len(os.environ["FROM_OS"]))
