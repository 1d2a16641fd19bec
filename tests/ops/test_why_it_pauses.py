"""Explanations of a saga that loses one worker after the other."""

import pytest

from sluice.jobs.sagas.journal import Direction
from sluice.jobs.states import State
from sluice.ledger.reads.saga_details import FlightRecord
from sluice.ledger.sagas.journals import CRASHES_MAX
from sluice.ops.cli.flight_page import facts
from sluice.ops.documents.saga_document import as_document
from tests.ledger.flights import did
from tests.ops.test_why import IN_AN_HOUR, answer


def _flight(crashes: int) -> FlightRecord:
    return FlightRecord(
        number=0,
        saga_open=True,
        abort_reason=None,
        crashes=crashes,
        failure=None,
        last=did(1),
        lines=[],
        events=[],
        meters=[],
        earlier=[],
    )


@pytest.mark.parametrize(
    ("crashes", "told"),
    [
        (0, ""),
        (1, "; it has lost a worker there"),
        (3, "; it has lost 3 workers there, one after the other"),
        (CRASHES_MAX, f"; it has lost {CRASHES_MAX} or more workers there, one after the other"),
    ],
)
def test_why_has_the_number_of_lost_workers(crashes: int, told: str) -> None:
    found = answer({"flight": _flight(crashes)}, state=State.WAITING, not_before=IN_AN_HOUR)
    assert found.because == f"b/1 waits until it is due, at step 2 of 3, after S0{told}"
    assert [each.kind for each in found.waits_for] == ["time"]


def test_show_has_the_number_of_lost_workers() -> None:
    flight = _flight(2)
    assert flight.last is not None
    assert flight.last.direction is Direction.DO
    assert list(facts(flight, State.WAITING))[1:] == [
        "it has lost 2 workers there, one after the other, so it pauses before it continues"
    ]
    assert as_document(flight, whole=True).crashes == 2
