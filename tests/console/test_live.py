"""The page follows the ledger without a reload, shows how old it is, and can be navigated by keys."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.console.conftest import TOKEN, Console, console_in, context_at, started, untroubled, visiting
from tests.console.visitor import Visitor
from tests.console.works import RAN, open_gate
from tests.ops.typist import Typist


def test_a_job_is_submitted_and_followed_to_its_end_without_a_reload(
    browser: Browser, tmp_path: Path
) -> None:
    with console_in(tmp_path) as console, visiting(browser, console.address) as visitor:
        visitor.goes("/")
        visitor.sees("No jobs yet")
        visitor.page.evaluate("window.loaded = 'once'")
        visitor.page.keyboard.press("n")
        visitor.page.get_by_label("App", exact=True).fill("gate")
        visitor.page.get_by_label("name", exact=True).fill("first")
        visitor.presses("Submit…", within="form.submit")
        assert "gate/first" in visitor.agrees("Submit")
        visitor.is_told("was received")
        visitor.state("active")
        visitor.sees("0 of 1 job ended")
        visitor.presses("gate/first")
        visitor.state("running")
        visitor.sees("look 1.", ".round pre")
        visitor.sees("look 60.", ".round pre")
        open_gate(tmp_path, "first")
        visitor.state("succeeded")
        last = visitor.page.locator(".round pre").inner_text().splitlines()[-1]
        assert int(last.split()[1].strip(".")) >= 60, "the text of the end replaces the one so far"
        visitor.sees("has succeeded", ".why")
        visitor.presses("Overview", within=".nav")
        expect(visitor.page.locator('.total[data-key="succeeded"]')).to_contain_text("1")
        assert visitor.page.evaluate("window.loaded") == "once"


def test_the_list_of_jobs_follows_the_ledger(console: Console, visitor: Visitor) -> None:
    visitor.goes("/jobs?app=gate")
    console.submits("gate", "followed")
    expect(visitor.row("followed")).to_contain_text("running", timeout=20_000)
    open_gate(console.folder, "followed")
    expect(visitor.row("followed")).to_contain_text("succeeded", timeout=20_000)


def test_updates_disturb_neither_input_nor_focus(console: Console, visitor: Visitor) -> None:
    console.submits("report", RAN)
    visitor.goes("/jobs")
    key = visitor.page.get_by_label("Key begins with")
    key.press_sequentially("2026")
    visitor.sees(f"fetch/{RAN}_oslo")
    console.submits("report", "20261121")
    visitor.sees("report/20261121")
    expect(key).to_be_focused()
    expect(key).to_have_value("2026")
    expect(visitor.page).to_have_url(re.compile("key=2026"))
    visitor.goes("/apps?app=report")
    graph = visitor.page.get_by_role("application")
    graph.focus()
    console.submits("report", "20261122")
    visitor.sees("succeeded 3", ".portrait .pills")
    expect(graph).to_be_focused()


@pytest.fixture
def alone(tmp_path: Path) -> Typist:
    """Return a typist for a console that may end during the test."""
    typist = Typist(tmp_path, SLUICE_HOME=str(tmp_path / "home"), SLUICE_APPS="apps.json")
    typist.apps("apps.json", {"lonely": {"job_id": "{n}", "bash_cmd": "true"}})
    return typist


def test_the_lamp_shows_when_the_console_does_not_answer(browser: Browser, alone: Typist) -> None:
    with (
        context_at(browser, "http://127.0.0.1", token=None) as context,
        untroubled(Visitor(context)) as visitor,
    ):
        visitor.forgives("ERR_", "Failed to load")
        lamp = visitor.page.locator(".lamp")
        visitor.page.clock.install()
        with started(alone, "console", "--listen", "127.0.0.1:0") as address:
            assert context.request.post(f"{address}/api/session", data={"token": TOKEN}).ok
            visitor.goes(address)
            expect(lamp).to_have_text("live")
        visitor.page.clock.run_for(1_500)
        expect(lamp).to_have_text("reconnecting")
        visitor.page.clock.run_for(12_000)
        expect(lamp).to_contain_text("stale since")
        visitor.presses("Submissions", within=".nav")
        expect(visitor.page.get_by_role("alert").first).to_contain_text("does not answer")
        with started(alone, "console", "--listen", address.removeprefix("http://")):
            visitor.page.clock.run_for(10_000)
            expect(lamp).to_have_text("live")
            visitor.presses("Try again")
            visitor.sees("No submissions yet")


def test_the_search_box_finds_apps_states_jobs_and_submissions(
    console: Console, visitor: Visitor, pictures: Path
) -> None:
    console.submits("report", RAN, id="of the day")
    console.ends("report", RAN)
    visitor.goes("/")
    box = visitor.page.get_by_role("combobox", name="Search")
    finds = visitor.page.get_by_role("option")
    for typed, name, address in (
        ("repo", "report app", "/apps.app=report"),
        ("succ", "succeeded jobs in this state", "/jobs.state=succeeded"),
        (f"fetch/{RAN}_g", f"fetch/{RAN}_graz job, succeeded", f"/jobs/fetch/{RAN}_graz"),
        (f"{RAN}_os", f"fetch/{RAN}_oslo job, succeeded", f"/jobs/fetch/{RAN}_oslo"),
        ("of the day", "of the day submission", "/submissions/of%20the%20day"),
    ):
        visitor.page.keyboard.press("/")
        expect(box).to_be_focused()
        box.fill(typed)
        found = finds.filter(has_text=re.compile(r"\s*".join(map(re.escape, name.split()))))
        expect(found.first).to_be_visible()
        visitor.page.screenshot(path=pictures / "search.png")
        found.first.click()
        expect(visitor.page).to_have_url(re.compile(address))
        visitor.settles()


def test_screens_and_rows_are_reached_by_keys(console: Console, visitor: Visitor, pictures: Path) -> None:
    console.submits("report", RAN)
    visitor.goes("/")
    page = visitor.page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.screenshot(path=pictures / "keys.png")
    page.keyboard.press("Escape")
    for keys, title in {
        "gj": "Jobs",
        "gs": "Submissions",
        "ga": "Apps",
        "gw": "Workers",
        "go": "Overview",
    }.items():
        page.keyboard.type(keys)
        expect(page.locator("h1")).to_have_text(title)
        expect(page.locator("main")).to_be_focused()
    page.go_back()
    expect(page.locator("h1")).to_have_text("Workers")
    page.keyboard.type("gj")
    # Until the module of the screen is loaded, the rows of the screen before remain.
    expect(page.locator("h1")).to_have_text("Jobs")
    page.locator("main tbody tr").first.wait_for()
    page.keyboard.press("j")
    expect(page.locator("main tbody tr a").first).to_be_focused()


@contextmanager
def late_audit(browser: Browser, console: Console) -> Iterator[tuple[Visitor, Route]]:
    """Yield a visitor on the overview, and the held request for the module of the audit screen."""
    with visiting(browser, console.address) as visitor:
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        visitor.page.route("**/screens/audit.js", hold)
        visitor.goes("/")
        # The request is announced before it is routed, so wait for the route itself.
        while not held:
            visitor.page.wait_for_timeout(10)
        (late,) = held
        yield visitor, late


def test_a_screen_that_loads_late_does_not_replace_the_current_one(
    browser: Browser, console: Console
) -> None:
    with late_audit(browser, console) as (visitor, late):
        page = visitor.page
        page.keyboard.type("gu")
        page.keyboard.type("gw")
        expect(page.locator("h1")).to_have_text("Workers")
        late.continue_()
        # Wait until the late module is loaded: another import of it completes after the first.
        page.evaluate("(address) => import(address)", late.request.url)
        expect(page.locator("h1")).to_have_text("Workers")
        expect(page).to_have_url(re.compile("/workers$"))


def test_a_search_that_began_while_a_screen_loads_goes_on(browser: Browser, console: Console) -> None:
    with late_audit(browser, console) as (visitor, late):
        page = visitor.page
        page.keyboard.type("gu")
        expect(page).to_have_url(re.compile("/audit$"))
        page.keyboard.press("/")
        page.keyboard.type("succ")
        late.continue_()
        expect(page.locator("h1")).to_have_text("Audit")
        visitor.settles()
        expect(page.get_by_role("combobox", name="Search")).to_be_focused()
        expect(page.get_by_role("option").first).to_be_visible()


def test_the_chosen_theme_is_kept_after_a_reload(visitor: Visitor) -> None:
    visitor.goes("/")
    root = visitor.page.locator("html")
    visitor.page.get_by_role("button", name="Dark", exact=True).click()
    expect(root).to_have_attribute("data-theme", "dark")
    visitor.page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    visitor.settles()
    visitor.page.keyboard.press("t")
    expect(root).not_to_have_attribute("data-theme", "dark")


def test_a_narrow_window_has_a_menu(browser: Browser, console: Console, pictures: Path) -> None:
    with visiting(browser, console.address, (390, 844)) as visitor:
        visitor.goes("/")
        visitor.page.get_by_role("button", name="Menu").click()
        expect(visitor.page.get_by_role("link", name="Schedules")).to_be_visible()
        visitor.page.screenshot(path=pictures / "menu.png")
        visitor.page.get_by_role("link", name="Schedules").click()
        visitor.settles()
        expect(visitor.page.get_by_role("link", name="Audit")).not_to_be_visible()
