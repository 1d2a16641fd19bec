"""Notifications without secrets, on a page of their own and on the page of their job; and late jobs."""

from pathlib import Path

from playwright.sync_api import expect

from sluice.ledger.database.connection import Ledger
from tests.console.conftest import Console
from tests.console.visitor import PATIENCE_MS, Visitor
from tests.console.works import open_gate

_GIVE_UP = "UPDATE delivery SET dead_at = now(), next_at = NULL WHERE dead_at IS NULL"


def test_deliveries_are_listed_without_secrets_and_sent_again(
    console: Console, visitor: Visitor, ledger: Ledger, pictures: Path
) -> None:
    visitor.goes("/notifications")
    visitor.sees("No notifications yet.")
    open_gate(console.folder, "siren")
    console.submits("alarming", "siren")
    console.ends("alarming", "siren")
    row = visitor.page.locator("main tbody tr")
    expect(row).to_contain_text("alarming/siren", timeout=PATIENCE_MS)
    expect(row).to_contain_text("webhook http://127.0.0.1:9")
    expect(row).to_contain_text("pending")
    visitor.sees_not("hush")
    ledger.transact(lambda tx: tx.write(_GIVE_UP))
    visitor.goes("/notifications?state=dead")
    visitor.sees("1 given up")
    visitor.pictures(pictures, "notifications")
    visitor.goes("/jobs/alarming/siren")
    sent = visitor.page.get_by_role("region", name="Notifications")
    expect(sent).to_contain_text("given up")
    sent.get_by_role("button", name="Send again…").click()
    assert "failed: alarming/siren" in visitor.agrees("Send again")
    visitor.is_told("1 delivery is attempted again.")
    expect(sent).to_contain_text("pending")
    expect(sent).not_to_contain_text("hush")
    visitor.goes("/audit")
    expect(visitor.row("notifications retry")).to_contain_text("again 1")


def test_late_jobs_are_marked_and_found(console: Console, visitor: Visitor, pictures: Path) -> None:
    console.submits("alarming", "slow")
    visitor.goes("/jobs/alarming/slow")
    head = visitor.page.locator("header.headline")
    expect(head.locator(".chip.late")).to_have_text("late", timeout=PATIENCE_MS)
    expect(visitor.page.get_by_role("region", name="Details")).to_contain_text("late since")
    visitor.sees("it is late since")
    visitor.goes("/jobs?app=alarming")
    expect(visitor.row("alarming/slow")).to_contain_text("late")
    visitor.page.locator('.pill[data-key="late"]').click()
    expect(visitor.page.locator("main tbody tr")).to_have_count(1)
    visitor.pictures(pictures, "late")
    open_gate(console.folder, "slow")
    visitor.goes("/jobs/alarming/slow")
    expect(head.locator(".chip.late")).to_have_text("ended late", timeout=PATIENCE_MS)
