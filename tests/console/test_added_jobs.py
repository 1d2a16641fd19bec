"""Jobs that a job has added: folded into counts on its page, in the list and in the graph."""

from pathlib import Path

from playwright.sync_api import expect

from tests.console.conftest import Console
from tests.console.visitor import Visitor


def test_a_job_page_folds_the_jobs_that_it_has_added_into_counts(
    console: Console, visitor: Visitor, pictures: Path
) -> None:
    console.submits("packed", "1")
    console.ends("packed", "1")
    visitor.goes("/jobs/unpack/1")
    added = visitor.page.get_by_role("region", name="Added jobs")
    expect(added).to_contain_text("9 jobs of piece")
    expect(added.locator('[data-key="failed"]')).to_have_text("failed1")
    expect(added.locator('[data-key="succeeded"]')).to_have_text("succeeded8")
    expect(added.locator('[data-key="then"]')).to_contain_text("packed/1 succeeded")
    graph = visitor.page.get_by_role("application")
    expect(graph).to_contain_text("piece \N{MULTIPLICATION SIGN}8")
    # From unpack to two boxes of piece, from these to packed, and from unpack to packed.
    expect(graph.locator(".graph-way.is-added")).to_have_count(5)
    expect(graph.locator(".graph-way:not(.is-added)")).to_have_count(0)
    visitor.sees("Dashed lines are dependencies that a job has added.")
    visitor.pictures(pictures, "added")
    added.locator('[data-key="failed"]').click()
    visitor.sees("added by unpack/1")
    expect(visitor.page.locator("main tbody tr")).to_have_count(1)
    visitor.presses("piece/1_8")
    expect(visitor.page.get_by_role("region", name="Details")).to_contain_text("added byunpack/1")
    visitor.page.get_by_role("region", name="Details").get_by_role("link", name="unpack/1").click()
    visitor.sees("9 jobs of piece")


def test_the_graph_of_apps_has_external_tables_and_dashed_lines_to_added_apps(
    console: Console, visitor: Visitor, pictures: Path
) -> None:
    console.submits("packed", "2")
    console.ends("packed", "2")
    visitor.goes("/apps")
    graph = visitor.page.get_by_role("application")
    expect(graph.locator('[data-id="table events"]')).to_be_attached()
    added = graph.locator(".graph-way.is-added")
    expect(added).to_have_count(1)
    assert added.locator("path").evaluate("path => getComputedStyle(path).strokeDasharray") != "none"
    visitor.sees("Dashed lines lead to apps with jobs that another job has added.")
    visitor.pictures(pictures, "apps-added")
    graph.locator('[data-id="table events"]').click()
    assert "app=" not in visitor.page.url
    graph.press("Enter")
    visitor.sees("Tables")
