"""Notifications: deliveries on a page of their own and on the page of their job, without secrets."""

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
