"""Refused commands about sagas: each is refused in one line and changes nothing."""

from typing import Any

import pytest

from sluice import Step
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.ledger.flights import Sagas, did, switched, undid
from tests.ops.site import WORDS, Site


def steps(_: Any) -> list[Step]:
    """Return no steps, because the journal of this saga is written by hand."""
    return []


SAGA = {"job_id": "{x}", "job_type": "saga", "function": f"{__name__}:steps"}


@pytest.fixture
def sagas(site: Site) -> Sagas:
    """Return sagas. ``order/1`` waits for an approval, and ``nap/1`` is no saga."""
    site.define({"order": SAGA, "nap": WORDS})
    site.world.submit("order")
    site.world.submit("nap")
    sagas = Sagas(site.world)
    claimed = sagas.claim("order")
    sagas.write(claimed, did(1))
    sagas.suspend(claimed, 2, "approved")
    return sagas


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("saga show nap 1", "nap/1 is no saga"),
        ("saga show order nowhere", "The ledger has no job order/nowhere"),
        ("saga retry-undo order 1", "order/1 is suspended: only a fatal saga"),
        ("saga force-done order 1", "order/1 is suspended: only a fatal saga"),
        ("saga force-done nap 1", "nap/1 is no saga"),
        ("resume order nowhere --event approved", "The ledger has no job order/nowhere"),
        ("resume nap 1", "nap is no saga"),
        ("resume absent", "no paused submission absent"),
        ("resume absent --event approved", "events are for one saga"),
        ("resume order 1 --payload {", "Argument --payload"),
        (f"resume order 1 --payload {'[' * 65}{']' * 65}", "nests deeper than 64 levels"),
        ("resume order 1 --event=", "is no name of an event"),
        ("resume ordre 1", "did you mean order?"),
        ("saga undo order 1", "There is no command 'undo'"),
    ],
)
@pytest.mark.usefixtures("sagas")
def test_an_impossible_command_is_refused_in_one_line(site: Site, typed: str, words: str) -> None:
    error = site.says(*typed.split(), code=2)["error"]
    assert words in f"{error['what']} {error['advice']}"
    assert site.world.state("order") is State.SUSPENDED


def test_without_a_failed_undo_none_can_be_forced(site: Site, sagas: Sagas) -> None:
    site.world.submit("order", "2")
    claimed = sagas.claim("order/2")
    for entry in (did(1), switched(2, 1), undid(3, 1)):
        sagas.write(claimed, entry)
    sagas.end(claimed, Ending.UNDO_FAILED, error="DISMAL FAILURE: its steps are gone")
    refused = site.says("saga", "force-done", "order", "2", code=2)["error"]
    assert refused["what"] == "No undo of order/2 has failed: its steps could not be rebuilt."
