"""Each screen shows its content without an error, at both widths, in the light and the dark theme."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.conftest import Console, started, visiting
from tests.console.visitor import PATIENCE_MS, Visitor
from tests.console.works import RAN, open_gate
from tests.ops.typist import Typist


@pytest.fixture(scope="module", autouse=True)
def worked(console: Console) -> Iterator[None]:
    """Run, pause and submit jobs of every kind, so that each screen has content."""
    console.submits("joined", start="2024-04-21", end="2024-04-30")
    console.submits("scores", work_ids="1-25")
    console.submits("publish", RAN)
    console.submits("order", "1")
    console.submits("gate", "main")
    console.asks("schedules/yearly/pause")
    console.ends("publish", RAN)
    yield
    open_gate(console.folder, "main")


SCREENS = {
    "overview": ("/", ["publish", "failed", "Throughput", "Queues", "Workers"]),
    "apps": ("/apps", ["15 apps"]),
    "app": ("/apps?app=report", ["report", "needs", "fetch", "publish", "succeeded 1"]),
    "jobs": ("/jobs", [f"report/{RAN}", "order/1", "running", "suspended"]),
    "jobs-some": ("/jobs?app=fetch&state=succeeded&key=2026", [f"fetch/{RAN}_graz"]),
    "jobs-none": ("/jobs?app=mail&state=running", ["No job matches", "Show all jobs"]),
    "job": (
        f"/jobs/publish/{RAN}",
        ["failed", "round 1", "no paper", "standard error", "exit code 3", "planner"],
    ),
    "submissions": ("/submissions", [f"publish/{RAN}", "100 %", "2024-04-21 to 2024-04-30"]),
    "partitions": (
        "/partitions?table=events&partition=2024-04-23&to=2024-04-30",
        ["staging", "2024-04-30", "no app", "events, 2024-04-23"],
    ),
    "schedules": ("/schedules", ["nightly", "0 2 * * *", "paused", "not fired yet"]),
    "sagas": ("/sagas", ["order/1", "approved", "2 of 4"]),
    "saga": ("/sagas/order/1", ["The saga has waited for approved", "Reserve", "done", "shelf"]),
    "workers": ("/workers", ["yes", "all"]),
    "audit": ("/audit", ["Audit"]),
    "submit": ("/submit?app=fetch", ["date", "shop", "all jobs that the definition lists", "Request"]),
    "nowhere": ("/nothing/here", ["There is no page /nothing/here"]),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_shows_its_content(name: str, visitor: Visitor, pictures: Path) -> None:
    address, texts = SCREENS[name]
    if name == "nowhere":
        visitor.forgives(address)  # The page is shown with the status 404.
    visitor.goes(address)
    for text in texts:
        visitor.sees(text)
    expect(visitor.page.locator(".lamp")).to_contain_text("live")
    expect(visitor.page.locator("h1")).to_have_count(1)
    visitor.pictures(pictures, name)


def test_a_submission_page_shows_its_progress(visitor: Visitor, pictures: Path) -> None:
    visitor.goes("/submissions?app=publish")
    visitor.presses(f"publish/{RAN}")
    visitor.state("failed")
    visitor.sees("4 of 4 jobs ended")
    visitor.sees(f"fetch/{RAN}_graz")
    visitor.pictures(pictures, "submission")


def test_a_missing_job_is_reported_with_a_button_to_retry(visitor: Visitor, pictures: Path) -> None:
    visitor.forgives("/api/jobs/fetch/elsewhere", "/api/jobs/fetch/elsewhere/why")
    visitor.goes("/jobs/fetch/elsewhere")
    expect(visitor.page.get_by_role("alert").first).to_contain_text("elsewhere")
    expect(visitor.page.get_by_role("button", name="Try again")).to_be_visible()
    visitor.pictures(pictures, "missing")


def test_output_of_jobs_is_never_markup(visitor: Visitor) -> None:
    visitor.goes(f"/jobs/fetch/{RAN}_graz")
    visitor.sees("<b>not bold</b>")
    assert visitor.page.locator("pre b").count() == 0


def test_a_job_page_shows_the_result(console: Console, visitor: Visitor, pictures: Path) -> None:
    for key in ("1", "9"):
        console.submits("total", key)
        console.ends("total", key)
    visitor.goes("/jobs/total/1")
    result = visitor.page.get_by_role("region", name="Result")
    expect(result.locator("pre")).to_have_text(
        '{\n  "text": "<b>not bold</b>",\n  "number": 1152921504606846977\n}'
    )
    expect(result.locator("b")).to_have_count(0)
    visitor.pictures(pictures, "result")
    visitor.goes("/jobs/total/9")
    with visitor.page.expect_download() as download:
        result.get_by_role("link", name="Download it").click()
    assert download.value.path().read_text() == f'"{"x" * 300_000}"'
    visitor.goes(f"/jobs/report/{RAN}")
    visitor.sees("Rounds")
    expect(result).to_have_count(0)


def test_empty_screens_state_that_they_are_empty(browser: Browser, bare: str, pictures: Path) -> None:
    with visiting(browser, bare) as visitor:
        for address, text in {
            "/": "No jobs yet",
            "/jobs": "No jobs yet",
            "/submissions": "No submissions yet",
            "/sagas": "No saga is running",
            "/notifications": "No notifications yet",
            "/workers": "No worker is running",
            "/partitions": "No app makes partitions",
            "/schedules": "No schedules",
            "/audit": "No actions yet",
        }.items():
            visitor.goes(address)
            visitor.sees(text)
        visitor.pictures(pictures, "empty")


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[str]:
    """Yield a console without workers, of one app that has never run."""
    typist = Typist(tmp_path, SLUICE_HOME=str(tmp_path / "home"), SLUICE_APPS="apps.json")
    typist.apps("apps.json", {"lonely": {"job_id": "{n}", "bash_cmd": "true"}})
    with started(typist, "console", "--listen", "127.0.0.1:0") as address:
        yield address


def test_the_graph_and_the_grid_stay_in_view_when_the_window_shrinks(visitor: Visitor) -> None:
    visitor.goes("/apps")
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    expect(visitor.page.locator("main svg [data-id]").first).to_be_attached()
    visitor.page.wait_for_function(_ALL_IN_SIGHT, timeout=PATIENCE_MS)
    visitor.page.set_viewport_size({"width": 1280, "height": 860})
    visitor.goes("/partitions?to=2024-04-30")
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.page.wait_for_function(_AT_THE_END, timeout=PATIENCE_MS)


_ALL_IN_SIGHT = """
() => {
    const frame = document.querySelector("main .graph-frame svg").getBoundingClientRect();
    const nodes = [...document.querySelectorAll("main .graph-frame svg [data-id]")];
    const boxes = nodes.map((each) => each.getBoundingClientRect());
    return boxes.length > 0 && boxes.every((box) => box.left >= frame.left - 1 && box.right <= frame.right + 1);
}
"""
_AT_THE_END = """
() => {
    const box = document.querySelector("main .grid-frame [role=application]");
    return box.scrollWidth > box.clientWidth && box.scrollLeft + box.clientWidth >= box.scrollWidth - 2;
}
"""


def test_the_grid_opens_at_the_requested_partition(visitor: Visitor) -> None:
    visitor.goes("/partitions?table=staging&partition=2024-04-23&to=2024-04-30")
    visitor.sees("staging, 2024-04-23: succeeded", ".grid-frame [role=status]")
    scrolled = visitor.page.evaluate("document.querySelector('.grid').scrollLeft")
    assert scrolled > 0, "it shows the beginning of time"


def test_the_grid_can_be_navigated_by_keys(visitor: Visitor) -> None:
    visitor.goes("/partitions?to=2024-04-30")
    grid = visitor.page.get_by_role("application", name=re.compile("Partitions by time"))
    grid.focus()
    grid.press("ArrowDown")
    visitor.sees("staging, 2024-04-30: succeeded", ".grid-frame [role=status]")
    grid.press("Home")
    grid.press("Enter")
    visitor.sees("never requested")
    assert "table=staging" in visitor.page.url


def test_the_grid_has_the_days_of_apps_whose_keys_have_a_date(visitor: Visitor, pictures: Path) -> None:
    visitor.goes("/partitions?from=2026-11-16&to=2026-11-22")
    grid = visitor.page.get_by_role("application", name=re.compile("Partitions by time"))
    grid.focus()
    for _ in range(5):
        grid.press("ArrowDown")
    said = visitor.page.locator(".grid-frame [role=status]")
    for _ in range(2):
        grid.press("ArrowLeft")
    expect(said).to_contain_text("publish, 2026-11-20: failed")
    visitor.pictures(pictures, "days")
    grid.press("Enter")
    expect(visitor.page.locator("main tbody tr")).to_have_count(1)
    visitor.sees("publish/20261120")


def test_the_graph_can_be_navigated_by_keys(visitor: Visitor) -> None:
    visitor.goes("/apps?app=report")
    graph = visitor.page.get_by_role("application")
    expect(graph.locator('[data-id="report"]')).to_have_class(re.compile("is-focus"))
    expect(graph.locator('[data-id="fetch"]')).to_have_class(re.compile("is-before"))
    expect(graph.locator('[data-id="mail"]')).to_have_class(re.compile("is-after"))
    graph.focus()
    graph.press("ArrowRight")
    visitor.sees("needed by")
    expect(visitor.page).to_have_url(re.compile("app=publish"))
    for key in ("+", "-", "0", "Shift+ArrowLeft"):
        graph.press(key)
    graph.press("Enter")
    expect(visitor.page).to_have_url(re.compile("/jobs.app=publish"))


def test_searching_the_graph_selects_the_app_and_the_wheel_zooms(visitor: Visitor) -> None:
    visitor.goes("/apps")
    visitor.page.get_by_label("Find an app").fill("joined")
    expect(visitor.page).to_have_url(re.compile("app=joined"))
    before = visitor.page.locator(".graph > g").first.get_attribute("transform")
    visitor.page.locator(".graph").hover()
    visitor.page.mouse.wheel(0, -400)
    expect(visitor.page.locator(".graph > g").first).not_to_have_attribute("transform", before or "")
