"""The console's page of the documentation names the calls that there are."""

import re

from ops.console.calls.routes import ROUTES
from tests.ops.typist import ROOT


def test_each_call_stands_in_the_table() -> None:
    text = (ROOT / "docs" / "console.md").read_text()
    told = re.findall(r"^\| `([A-Z]+) (/\S*)` \| (.+) \|$", text, re.MULTILINE)
    assert told == [(route.method, route.path, route.summary) for route in ROUTES]
