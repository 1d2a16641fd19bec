"""Pages with very much content: they show the last part of it, and the total number."""

from playwright.sync_api import expect

from sluice.jobs.model.names import JobName
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads.submission_lists import LOOKED_THROUGH_MAX
from tests.console.conftest import Console
from tests.console.visitor import PATIENCE_MS, Visitor
from tests.console.works import open_gate
from tests.ops.long_histories import lengthen


def test_only_the_last_of_very_many_rounds_are_shown(
    console: Console, visitor: Visitor, ledger: Ledger
) -> None:
    console.submits("gate", "long")
    open_gate(console.folder, "long")
    console.ends("gate", "long")
    ledger.transact(lambda tx: lengthen(tx, JobName("gate", "long")))
    visitor.goes("/jobs/gate/long")
    rounds = visitor.page.get_by_role("region", name="Rounds")
    expect(rounds).to_contain_text("the last 50 of 2,001 claims")
    expect(rounds.locator("details")).to_have_count(50)
    expect(visitor.page.get_by_role("region", name="History")).to_contain_text(
        "and 7,945 earlier transitions"
    )
    visitor.sees("in the last 200 transitions")
    visitor.sees("again 120")
    visitor.sees("and 113 more")
    last, before = rounds.locator("details").nth(0), rounds.locator("details").nth(1)
    expect(last.get_by_role("region", name="standard error")).to_have_text("2001")
    before.locator("summary").click()
    expect(before.get_by_role("region", name="standard error")).to_have_count(0)
    before.get_by_role("button", name="Show standard error").click()
    expect(before.get_by_role("region", name="standard error")).to_have_text("2000")
    # Output that was fetched stays visible when other parts change.
    console.submits("gate", "long", rerun="job")
    expect(rounds).to_contain_text("2,002 claims", timeout=PATIENCE_MS)
    expect(before.get_by_role("region", name="standard error")).to_have_text("2001")
    expect(rounds.locator("details").nth(2).get_by_role("region", name="standard error")).to_have_text("2000")


def test_a_filtered_list_does_not_deny_matches_among_unsearched_submissions(
    console: Console, visitor: Visitor, ledger: Ledger
) -> None:
    console.submits("report", "20261201", id="the first")
    console.ends("report", "20261201")
    console.ends("publish", "20261201")
    ledger.transact(
        lambda tx: tx.write(
            """
            INSERT INTO submission (id, app, state, request, push, received_at, planned_at, ended_at)
            SELECT 'later ' || n, 'gate', 'succeeded', '{}', push, received_at, received_at, received_at
            FROM submission, generate_series(1, %(many)s) n WHERE id = 'the first' ORDER BY n
            """,
            many=LOOKED_THROUGH_MAX,
        )
    )
    visitor.goes("/submissions?app=report")
    visitor.sees("No match so far.")
    visitor.sees_not("No submission matches")
    visitor.presses("Older")
    visitor.sees("report/20261201")
    visitor.goes("/submissions?app=mail&state=failed")
    visitor.sees("No submission matches")
