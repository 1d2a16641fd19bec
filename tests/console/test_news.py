"""The page when no event stream is available, or when the ledger does not answer."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from sluice.ops.console.server import SEATS
from tests.broker.proxy import Proxy
from tests.console.conftest import SIGNED, Console, started, visiting
from tests.console.visitor import PATIENCE_MS, Visitor
from tests.console.works import open_gate
from tests.homes import started_ledger
from tests.ops.caller import Caller
from tests.ops.typist import Typist

#: Time for a page that polls every 5 s.
ASKED_MS = PATIENCE_MS


def test_a_page_without_an_event_stream_polls(console: Console, visitor: Visitor, pictures: Path) -> None:
    visitor.forgives("503", "status of 503")
    lamp = visitor.page.locator(".lamp")
    with ExitStack() as seats:
        caller = Caller(int(console.address.rpartition(":")[2]), **SIGNED)
        for _ in range(SEATS):
            seats.enter_context(caller.hears("overview"))
        visitor.goes("/")
        expect(lamp).to_have_text("polled every 5 s")
        expect(lamp).to_have_attribute("title", re.compile("no event stream free for this page"))
        console.submits("gate", "unheard")
        expect(visitor.page.locator('.total[data-key="running"]')).to_contain_text("1", timeout=ASKED_MS)
        visitor.pictures(pictures, "asking")
        open_gate(console.folder, "unheard")
        expect(visitor.page.locator('.total[data-key="succeeded"]')).to_contain_text("1", timeout=ASKED_MS)
        visitor.page.goto("/apps?app=gate")
        visitor.presses("Pause…")
        visitor.agrees("Pause it")
        visitor.is_told("gate is paused")
        visitor.presses("Resume…")
        visitor.agrees("Resume it")
        visitor.is_told("gate is resumed")
        expect(visitor.page.get_by_role("button", name="Pause…")).to_be_visible()
        expect(lamp).to_have_text("polled every 5 s")
    expect(lamp).to_have_text("live", timeout=PATIENCE_MS)


def test_an_action_is_visible_at_once_without_an_event_stream(visitor: Visitor) -> None:
    """The page gets no events and does not poll, because its clock is stopped."""
    visitor.page.route("**/api/events**", lambda _: None)
    visitor.page.clock.install()
    visitor.goes("/apps?app=mail")
    visitor.page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    visitor.presses("Pause…")
    visitor.agrees("Pause it")
    visitor.presses("Resume…")
    visitor.agrees("Resume it")
    expect(visitor.page.get_by_role("button", name="Pause…")).to_be_visible()


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Proxy]:
    """Yield a proxy between the console and its ledger."""
    with started_ledger(tmp_path / "home") as url:
        wire = Proxy(url, default_port=5432)
        yield wire
        wire.close()


def test_the_lamp_shows_that_the_ledger_does_not_answer(
    browser: Browser, tmp_path: Path, wire: Proxy, pictures: Path
) -> None:
    typist = Typist(tmp_path, SLUICE_LEDGER_URL=wire.url, SLUICE_APPS="apps.json")
    typist.apps("apps.json", {"lonely": {"job_id": "{n}", "bash_cmd": "true"}})
    with (
        started(typist, "console", "--listen", "127.0.0.1:0") as address,
        visiting(browser, address) as visitor,
    ):
        lamp = visitor.page.locator(".lamp")
        visitor.goes("/")
        expect(lamp).to_have_text("live")
        wire.freeze()
        expect(lamp).to_have_text(re.compile(r"no ledger since \d\d:\d\d:\d\d"), timeout=PATIENCE_MS)
        expect(lamp).to_have_attribute("title", re.compile("cannot read the ledger"))
        visitor.pictures(pictures, "unseen")
        wire.heal()
        expect(lamp).to_have_text("live", timeout=PATIENCE_MS)
