"""A headless Chromium for tests: the program in ``SLUICE_TEST_CHROMIUM``, or the installed one.

If there is none, the test is skipped with a line that explains how to install it. Under ``CI=true`` it fails instead.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
#: The browser contacts only the console, and uses no hardware but the processor.
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    program = os.environ.get("SLUICE_TEST_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        _cannot_be_had()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def _cannot_be_had() -> None:
    told = "a browser cannot be had: install the package chromium, or set SLUICE_TEST_CHROMIUM to a program"
    if os.environ.get("CI") == "true":
        pytest.fail(told, pytrace=False)
    pytest.skip(told)
