"""The ``curl`` commands of the documentation, sent to a console."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.ops.caller import Caller, console
from tests.ops.orders import drained
from tests.ops.typist import ROOT, Typist

TOKEN = "a-word-that-nobody-guesses"
PAGES = ("console.md", "http.md", "deploy.md")


class Curl(NamedTuple):
    """Request of a ``curl`` command line."""

    path: str
    headers: Mapping[str, str]
    body: Any


@pytest.fixture(scope="module")
def port(orders: Typist) -> Iterator[int]:
    orders.asks("submit", "report", "2026-11-20")
    drained(orders)
    with console(orders, SLUICE_CONSOLE_TOKEN=TOKEN) as caller:
        yield caller.port


@pytest.mark.parametrize(
    "line",
    [
        line
        for page in PAGES
        for line in re.findall(
            r"^curl (?:[^\n]|(?<=\\)\n)+", (ROOT / "docs" / page).read_text(), re.MULTILINE
        )
    ],
)
def test_the_console_answers_each_documented_command(line: str, port: int) -> None:
    asked = _read(line)
    caller = Caller(port, Authorization=f"Bearer {TOKEN}", **asked.headers)
    if "watch=job" not in asked.path:
        answer = caller.gets(asked.path) if asked.body is None else caller.posts(asked.path, asked.body)
        assert answer.status in (200, 202), answer
        return
    with caller.hears(*parse_qs(urlsplit(asked.path).query)["watch"]) as events:
        told: set[str] = set()
        while not told >= {"overview", "job"}:
            told.add(next(events)[0])


def _read(line: str) -> Curl:
    """Return the request of a command line. The options -s and -N do not change it."""
    words = [word for word in shlex.split(line) if word.strip() and word not in ("curl", "-s", "-N")]
    headers, body, path = {}, None, ""
    given = iter(words)
    for word in given:
        if word == "-H":
            name, _, text = next(given).partition(": ")
            headers[name.replace("-", "_")] = text
        elif word == "-d":
            body = json.loads(next(given))
        else:
            url = urlsplit(word if "//" in word else f"//{word}")
            path = f"{url.path}?{url.query}" if url.query else url.path
    return Curl(path, {name: text for name, text in headers.items() if "Bearer" not in text}, body)
