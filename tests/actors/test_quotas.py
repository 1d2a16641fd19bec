"""Quotas of tenants: submissions that wait for active jobs to end, and submissions above the rate."""

import pytest

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.policy.tenants import Tenant, Tenants
from sluice.jobs.states import State
from sluice.ledger.limits import quotas
from tests.ledger.test_state_counts import counts_all
from tests.world import World, catalogue_of

APPS = {
    "scored": {"job_id": "{x}", "bash_cmd": "true", "tenant": "risk", "max_fails": 0},
    "traced": {"job_id": "{x}", "bash_cmd": "true", "tenant": "risk"},
    "other": {"job_id": "{x}", "bash_cmd": "true", "tenant": "growth"},
    "common": {"job_id": "{x}", "bash_cmd": "true"},
}


def catalogue(**settings: Tenant) -> Catalogue:
    found = catalogue_of(APPS)
    found.tenant_settings = Tenants(settings)
    return found


def test_submissions_wait_while_the_tenant_has_its_quota_of_active_jobs(world: World) -> None:
    world.catalogue = catalogue(risk=Tenant(active_jobs=2))
    world.submit("scored", None, keys=["1", "2"])
    counts_all(world)
    waits = world.submit("traced", "3")
    assert (world.submission(waits), world.reason(waits)) == (
        SubmissionState.RECEIVED,
        "Its tenant risk has its quota of 2 active jobs.",
    )
    world.finish("scored/1")
    world.deliver()
    world.tick(after_s=3)
    assert world.submission(waits) is SubmissionState.RECEIVED
    counts_all(world)
    world.tick(after_s=3)
    assert (world.submission(waits), world.reason(waits)) == (SubmissionState.ACTIVE, "")
    assert world.state("traced/3") is State.READY


def test_other_tenants_do_not_wait(world: World) -> None:
    world.catalogue = catalogue(risk=Tenant(active_jobs=1))
    world.submit("scored", "1")
    counts_all(world)
    for app in ("other", "common"):
        assert world.submission(world.submit(app, "2")) is SubmissionState.ACTIVE


def test_the_default_tenant_may_have_a_quota(world: World) -> None:
    world.catalogue = catalogue(default=Tenant(active_jobs=1))
    world.submit("common", "1")
    counts_all(world)
    assert world.submission(world.submit("common", "2")) is SubmissionState.RECEIVED
    assert world.submission(world.submit("scored", "2")) is SubmissionState.ACTIVE


def test_submissions_above_the_rate_are_refused_until_the_next_minute(world: World) -> None:
    world.catalogue = catalogue(risk=Tenant(submissions_per_minute=2))
    states = [world.submission(world.submit(app, "1")) for app in ("scored", "traced")]
    assert states == [SubmissionState.ACTIVE] * 2
    refused = world.submit("scored", "2")
    assert (world.submission(refused), world.reason(refused)) == (
        SubmissionState.REFUSED,
        "Its tenant risk may send 2 submissions a minute, and has sent more in this minute.",
    )
    assert world.submission(world.submit("other", "2")) is SubmissionState.ACTIVE
    world.tick(after_s=60)
    assert world.submission(world.submit("scored", "2")) is SubmissionState.ACTIVE


def test_a_submission_of_many_keys_and_a_retry_count_once(world: World) -> None:
    world.catalogue = catalogue(risk=Tenant(submissions_per_minute=3))
    world.submit("scored", None, keys=[str(key) for key in range(300)])
    failed = world.submit("scored", "300")
    world.finish("scored/300", Ending.ERROR)
    world.deliver()
    assert world.submission(failed) is SubmissionState.FAILED
    world.retry(failed)
    assert world.submission(failed) is SubmissionState.ACTIVE
    assert world.submission(world.submit("traced", "1")) is SubmissionState.ACTIVE
    assert world.submission(world.submit("traced", "2")) is SubmissionState.REFUSED


def test_submissions_of_one_message_are_counted_one_by_one(world: World) -> None:
    world.catalogue = catalogue(risk=Tenant(submissions_per_minute=2))
    totals = [
        world.ledger.transact(lambda tx: quotas.count_submissions(tx, {"risk": 1, "growth": 2}))
        for _ in range(2)
    ]
    assert totals == [{"risk": 1, "growth": 2}, {"risk": 2, "growth": 4}]


@pytest.mark.parametrize("quota", [Tenant(active_jobs=1), Tenant(submissions_per_minute=1)])
def test_without_tenants_nothing_is_counted(world: World, quota: Tenant) -> None:
    world.catalogue = catalogue(risk=quota)
    world.submit("common", "1")
    assert world.ledger.transact(lambda tx: tx.rows("SELECT * FROM quota_minute")) == []
