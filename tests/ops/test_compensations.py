"""A saga across apps on the command line: submitted, failed, undone, stuck, and continued."""

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.reads import submission_progress
from tests.ops.site import WORDS, Site

APPS = {
    "book": WORDS | {"compensate": "unbook"},
    "pay": WORDS | {"compensate": "refund", "depends_on": {"app_name": ["book"]}},
    "send": WORDS | {"depends_on": {"app_name": ["pay"]}},
    "unbook": {"job_id": "{key}", "bash_cmd": "true"},
    "refund": WORDS,
}


def _failed(site: Site) -> None:
    """Submit a trip, let its last job fail, and plan the compensation."""
    site.define(APPS)
    site.says("submit", "send", "7", "--mode", "saga", "--id", "trip")
    site.world.tick(after_s=60)
    for job in ("book/7", "pay/7"):
        site.world.finish(job)
    site.world.finish("send/7", Ending.ERROR)
    site.world.tick(after_s=60)


def _mode(site: Site, id: str) -> str | None:
    status = site.world.ledger.transact(lambda tx: submission_progress.status(tx, id))
    return status.mode if status else None


def test_show_and_why_name_the_compensation_of_a_job(site: Site) -> None:
    _failed(site)
    assert site.says("show", "pay", "7")["compensated_by"] == ["refund", "7", "ready"]
    assert site.says("show", "refund", "7")["compensates"] == ["pay", "7", "succeeded"]
    assert "compensated by refund/7, which is ready" in site.in_words("pay/7", "show")
    assert "compensates pay/7, which is succeeded" in site.in_words("refund/7", "show")
    because = site.why("pay/7")["because"]
    assert because.endswith("its saga failed, and refund/7, which undoes it, is ready")
    site.world.finish("refund/7")
    assert site.why("pay/7")["because"] == "pay/7 was undone by refund/7, because its saga failed"


def test_a_saga_cannot_be_retried_before_it_is_undone(site: Site) -> None:
    _failed(site)
    assert "is being undone" in str(site.says("retry", "trip", code=2))
    site.world.finish("refund/7")
    site.world.finish("unbook/7")
    again = site.says("retry", "trip")["submission"]
    site.world.tick(after_s=60)
    assert _mode(site, again) == "saga"
    assert site.world.ready() == {"book/7"}


def test_a_retry_continues_a_failed_compensation(site: Site) -> None:
    _failed(site)
    site.world.finish("refund/7", Ending.ERROR)
    assert site.says("submissions", "trip/compensation")["state"] == "failed"
    assert site.why("refund/7")["because"].endswith("so pay/7 is not undone")
    site.says("retry", "trip/compensation")
    site.world.tick(after_s=60)
    assert site.world.ready() == {"refund/7"}
    site.world.finish("refund/7")
    site.world.finish("unbook/7")
    assert {site.world.state("book/7"), site.world.state("pay/7")} == {State.CANCELLED}


def test_a_user_cannot_take_the_id_of_a_compensation(site: Site) -> None:
    site.define(APPS)
    said = str(site.says("submit", "book", "7", "--id", "trip/compensation", code=2))
    assert "an id that ends in /compensation is reserved for the undo of another submission" in said
