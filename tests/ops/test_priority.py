"""``--priority`` on the command line, and the jobs that inherit it."""

from tests.ops.typist import Typist


def test_upstream_jobs_inherit_the_priority_of_a_submission(desk: Typist) -> None:
    assert desk.types("submit", "report", "2026-02-01", "--push", "wanted").code == 0
    assert desk.types("submit", "publish", "2026-02-01", "--push", "wanted", "--priority", "7").code == 0
    assert desk.types("up", "--drain").code == 0
    for app, key in (("publish", "20260201"), ("report", "20260201"), ("fetch", "20260201_oslo")):
        assert desk.asks("show", app, key)["priority"] == 7
    assert "priority 7" in desk.types("show", "report", "20260201").out
