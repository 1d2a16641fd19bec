"""Actions of the page: each is explained, performed, reported with its result, and recorded."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from sluice.ops.console.identity.sessions import digest_of
from tests.console.conftest import Console, context_at, started, untroubled
from tests.console.visitor import PATIENCE_MS, Visitor
from tests.console.works import SOURCES, open_gate, write_works
from tests.ops.typist import Typist

TOKEN, VIEW_TOKEN = "a token of an operator", "another token for viewers"
#: Named token with the role submit, for the tenant of all apps.
SUBMIT_TOKEN = "the token of a program"


def test_a_running_job_is_cancelled_and_run_again(console: Console, visitor: Visitor) -> None:
    console.submits("gate", "one")
    visitor.goes("/jobs/gate/one")
    visitor.state("running")
    visitor.presses("Cancel…")
    question = visitor.agrees("Cancel the job")
    assert "gate/one" in question
    assert "The running round is stopped" in question
    visitor.is_told("gate/one: 1 job cancelled")
    visitor.state("cancelled")
    open_gate(console.folder, "one")
    visitor.presses("Run again…")
    visitor.agrees("Run it again", rerun="downstream")
    visitor.is_told("gate/one is requested again")
    visitor.state("succeeded")


def test_a_declined_action_is_not_performed(console: Console, visitor: Visitor) -> None:
    console.submits("gate", "two")
    visitor.goes("/jobs/gate/two")
    visitor.state("running")
    visitor.presses("Cancel…")
    visitor.agrees("Go back")
    visitor.presses("Cancel…")
    visitor.page.keyboard.press("Escape")
    expect(visitor.page.locator("dialog")).to_have_count(0)
    open_gate(console.folder, "two")
    visitor.state("succeeded")


def test_a_job_with_manual_archiving_is_archived(console: Console, visitor: Visitor) -> None:
    console.submits("publish", "20261101")
    console.ends("publish", "20261101")
    visitor.goes("/jobs/publish/20261101")
    visitor.presses("Archive…")
    visitor.agrees("Archive it")
    visitor.is_told("publish/20261101 is archived")
    visitor.sees("archived", ".headline")


def test_a_submission_is_paused_resumed_and_cancelled(console: Console, visitor: Visitor) -> None:
    console.submits("gate", "three", id="three at once")
    visitor.goes("/submissions/three%20at%20once")
    visitor.state("active")
    visitor.presses("Pause…")
    visitor.agrees("Pause it")
    visitor.sees("paused", ".headline")
    visitor.presses("Resume…")
    visitor.agrees("Resume it")
    visitor.sees_not("paused", ".headline")
    visitor.presses("Cancel…")
    assert "three at once" in visitor.agrees("Cancel the submission")
    visitor.is_told("Submission three at once: 1 job cancelled")
    visitor.state("cancelled")
    visitor.presses("Run again…")
    assert "three at once" in visitor.agrees("Run them again")
    visitor.is_told("Submission three at once: It runs again")
    visitor.state("active")
    open_gate(console.folder, "three")
    visitor.state("succeeded")


def test_an_app_is_paused_and_resumed(console: Console, visitor: Visitor) -> None:
    visitor.goes("/apps?app=gate")
    visitor.presses("Pause…")
    assert "gate" in visitor.agrees("Pause it")
    visitor.is_told("gate is paused")
    console.submits("gate", "seven")
    visitor.goes("/jobs/gate/seven")
    visitor.state("ready")
    visitor.sees("its app gate is paused")
    visitor.goes("/apps?app=gate")
    visitor.presses("Resume…")
    visitor.agrees("Resume it")
    visitor.goes("/jobs/gate/seven")
    visitor.state("running")
    open_gate(console.folder, "seven")
    visitor.state("succeeded")


def test_a_schedule_is_fired_paused_and_resumed(visitor: Visitor) -> None:
    visitor.goes("/schedules")
    visitor.page.get_by_title("Fire nightly now").click()
    assert "nightly → report" in visitor.agrees("Fire it now")
    visitor.is_told("Schedule nightly was fired")
    visitor.page.get_by_title("pause nightly").click()
    visitor.agrees("Pause it")
    expect(visitor.row("nightly")).to_contain_text("paused")
    visitor.page.get_by_title("resume nightly").click()
    visitor.agrees("Resume it")
    expect(visitor.row("nightly")).to_contain_text("then")


def test_partitions_land(console: Console, visitor: Visitor) -> None:
    console.submits("joined", start="2024-04-01", end="2024-04-02")
    visitor.goes("/partitions?table=events&partition=2024-04-01")
    visitor.presses("Land…", within="aside.portrait")
    visitor.agrees("Land them", partitions="2024-04-01, 2024-04-02")
    visitor.is_told("2 partitions landed")
    visitor.sees("succeeded (landed)")
    expect(visitor.page.locator('[data-key="joined"]')).to_contain_text("2", timeout=PATIENCE_MS)


def test_partitions_land_again_and_stale_ones_are_made_again(
    console: Console, visitor: Visitor, pictures: Path
) -> None:
    day = "2024-05-08"
    console.asks("partitions/events/land", partitions=[day])
    console.submits("joined", start=day, end=day)
    made = f"/partitions?table=joined&partition={day}&from=2024-05-06&to=2024-05-12"
    visitor.goes(made)
    about = visitor.page.get_by_role("complementary", name="This partition")
    expect(about).to_contain_text("succeeded", timeout=PATIENCE_MS)
    expect(about.get_by_role("button", name="Restate…")).to_have_count(0)
    visitor.goes(made.replace("joined", "events"))
    visitor.presses("Land again…")
    assert "become stale" in visitor.agrees("Land them again")
    visitor.is_told("0 partitions landed, 1 again; stale now: 1 of joined.")
    visitor.goes(made)
    expect(about.locator('[data-key="stale"]')).to_have_text("stale")
    visitor.sees(f"joined, {day}: stale", ".grid-frame [role=status]")
    visitor.pictures(pictures, "stale")
    about.get_by_role("button", name="Restate…").click()
    visitor.agrees("Make them again")
    visitor.is_told("1 submission received.")
    expect(about).to_contain_text("succeeded", timeout=PATIENCE_MS)
    expect(about.locator('[data-key="stale"]')).to_have_count(0, timeout=PATIENCE_MS)


def test_a_saga_is_approved(console: Console, visitor: Visitor) -> None:
    console.submits("order", "1")
    visitor.goes("/sagas")
    expect(visitor.row("order/1")).to_contain_text("approved", timeout=PATIENCE_MS)
    visitor.row("order/1").get_by_role("button", name="Approve…").click()
    assert "approved" in visitor.agrees("Send it", payload='{"ok": true}')
    visitor.is_told("“approved” was sent")
    visitor.goes("/sagas/order/1")
    visitor.state("succeeded")
    visitor.sees("Ship")


def test_a_failed_undo_of_a_saga_is_forced_or_tried_again(console: Console, visitor: Visitor) -> None:
    locks = [console.folder / f"{n}.locked" for n in (2, 3)]
    for lock in locks:
        lock.touch()
        console.submits("order", lock.stem)
    for lock in locks:
        visitor.goes(f"/jobs/order/{lock.stem}")
        visitor.state("suspended")
        console.asks(f"jobs/order/{lock.stem}/resume", event="approved", payload={"ok": False})
    visitor.goes("/sagas/order/2")
    visitor.state("fatal")
    visitor.sees("the warehouse is locked")
    visitor.presses("Mark undo as done…")
    visitor.agrees("Mark as done", note="carried it back")
    visitor.state("failed")
    visitor.sees("carried it back")
    locks[1].unlink()
    visitor.goes("/sagas/order/3")
    visitor.state("fatal")
    visitor.presses("Try the undo again…")
    visitor.agrees("Try it again")
    visitor.state("failed")


def test_a_refused_submission_shows_the_reason(visitor: Visitor) -> None:
    visitor.forgives("answered 4", "status of 4")
    visitor.goes("/submit?app=fetch")
    visitor.presses("Submit…", within="form.submit")
    visitor.is_told("date and shop are missing")
    visitor.page.get_by_label("several jobs, by their keys").check()
    visitor.page.get_by_label("Keys", exact=True).fill("nonsense")
    visitor.page.get_by_text("Options", exact=True).click()
    visitor.page.get_by_label("max_fails").fill("many")
    visitor.presses("Submit…", within="form.submit")
    visitor.agrees("Submit")
    visitor.is_told(re.compile("max_fails"))
    visitor.page.get_by_label("max_fails").fill("1")
    visitor.presses("Submit…", within="form.submit")
    visitor.agrees("Submit")
    visitor.state("refused")
    visitor.sees("nonsense", ".notice.bad")


def test_ranges_and_work_ids_are_submitted_with_a_policy(visitor: Visitor) -> None:
    visitor.goes("/submit?app=staging")
    visitor.page.get_by_label("start", exact=True).fill("2025-01-01")
    visitor.page.get_by_label("end", exact=True).fill("2025-01-03")
    visitor.sees('"start": "2025-01-01"', "[data-sent]")
    visitor.presses("Submit…", within="form.submit")
    assert "staging from 2025-01-01 to 2025-01-03" in visitor.agrees("Submit")
    visitor.state("succeeded")
    visitor.goes("/submit?app=scores")
    visitor.page.get_by_label("Work IDs").fill("1-25")
    visitor.page.get_by_text("Options", exact=True).click()
    visitor.page.get_by_label("max_fails").fill("2")
    visitor.sees('"max_fails": 2', "[data-sent]")
    visitor.presses("Submit…", within="form.submit")
    visitor.agrees("Submit")
    visitor.state("succeeded")
    visitor.sees("3 of 3 jobs ended")


def test_an_action_is_recorded_in_the_audit(console: Console, visitor: Visitor, pictures: Path) -> None:
    console.submits("gate", "kept")
    visitor.goes("/jobs/gate/kept")
    visitor.presses("Cancel…")
    visitor.agrees("Cancel the job")
    visitor.state("cancelled")
    visitor.goes("/audit")
    expect(visitor.row("gate/kept")).to_contain_text("cancel")
    visitor.pictures(pictures, "audit-kept")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a console that requires a token."""
    folder = tmp_path_factory.mktemp("guarded")
    write_works(folder)
    entry = {"role": "submit", "tenant": "default", "sha256": digest_of(SUBMIT_TOKEN)}
    (folder / "tokens.json").write_text(json.dumps({"tokens": {"program": entry}}))
    tokens = {
        "SLUICE_CONSOLE_TOKEN": TOKEN,
        "SLUICE_CONSOLE_VIEW_TOKEN": VIEW_TOKEN,
        "SLUICE_CONSOLE_TOKENS": "tokens.json",
    }
    typist = Typist(folder, SLUICE_HOME=str(folder / "home"), SLUICE_APPS=SOURCES, **tokens)
    with started(typist, "console", "--listen", "127.0.0.1:0") as address:
        yield address


def test_the_printed_address_signs_in(browser: Browser, tmp_path: Path) -> None:
    write_works(tmp_path)
    typist = Typist(tmp_path, SLUICE_HOME=str(tmp_path / "home"), SLUICE_APPS=SOURCES)
    with started(typist, "console", "--listen", "127.0.0.1:0", token=None) as address:
        bare, _, token = address.partition("/#token=")
        assert token
        with context_at(browser, bare, token=None) as context, untroubled(Visitor(context)) as visitor:
            visitor.goes(address)
            expect(visitor.page.get_by_role("link", name="Submit", exact=True)).to_be_visible()
            assert token not in visitor.page.url
            visitor.goes("/jobs")
            assert token not in visitor.page.url


def test_a_visitor_signs_in_and_out_with_a_token(browser: Browser, guarded: str, pictures: Path) -> None:
    with context_at(browser, guarded, token=None) as context, untroubled(Visitor(context)) as visitor:
        visitor.forgives("401")
        visitor.page.goto("/jobs")
        token = visitor.page.get_by_label("Token")
        expect(token).to_be_focused()
        visitor.pictures(pictures, "signin")
        token.fill("a guess")
        visitor.presses("Sign in")
        expect(visitor.page.get_by_role("alert")).to_contain_text("token")
        token.fill(TOKEN)
        visitor.presses("Sign in")
        visitor.settles()
        expect(visitor.page.get_by_role("link", name="Submit", exact=True)).to_be_visible()
        visitor.page.get_by_role("button", name="Sign out").click()
        expect(visitor.page.get_by_label("Token")).to_be_visible()


def test_a_view_token_offers_no_actions(browser: Browser, guarded: str) -> None:
    with context_at(browser, guarded, token=None) as context, untroubled(Visitor(context)) as visitor:
        visitor.forgives("401")
        visitor.page.goto("/schedules")
        visitor.page.get_by_label("Token").fill(VIEW_TOKEN)
        visitor.presses("Sign in")
        visitor.sees("nightly")
        expect(visitor.page.get_by_text("view only")).to_be_visible()
        expect(visitor.page.get_by_role("button", name="Fire…")).to_have_count(0)
        visitor.goes("/submit")
        visitor.sees("This token is read-only")


def test_a_submit_token_of_a_tenant_offers_to_submit_and_no_other_act(browser: Browser, guarded: str) -> None:
    with context_at(browser, guarded, token=None) as context, untroubled(Visitor(context)) as visitor:
        visitor.forgives("401")
        visitor.page.goto("/schedules")
        visitor.page.get_by_label("Token").fill(SUBMIT_TOKEN)
        visitor.presses("Sign in")
        visitor.sees("nightly")
        expect(visitor.page.get_by_role("button", name="Fire…")).to_have_count(0)
        expect(visitor.page.get_by_role("link", name="Submit", exact=True)).to_be_visible()
        for screen, count in (("Jobs", 1), ("Workers", 0), ("Audit", 0)):
            expect(visitor.page.get_by_role("link", name=screen, exact=True)).to_have_count(count)
        visitor.goes("/")
        visitor.sees("Overview")
        visitor.goes("/submit?app=report")
        expect(visitor.page.locator("form.submit")).to_be_visible()
