"""Submissions with plans that would be too large for the planner or the ledger."""

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from sluice.jobs.model.request_limits import KWARGS_BYTES_MAX
from tests.attacks.attack import attack
from tests.attacks.installation import Installation, line
from tests.attacks.sender import envelope

#: Maximum of work IDs in one submission.
IDS_MAX = 1_000_000
#: Seconds in which a large plan has to be made, on a machine that does other things as well.
PLANNED_WITHIN_S = 240.0
#: Bytes by which the ledger may grow for one submission with large kwargs and many keys.
GROWTH_BYTES_MAX = 10_000_000
_MIB = 1024 * 1024


@attack("ten million work IDs in 46 bytes")
def many_ids(place: Installation) -> str:
    wanted = {"app": "many", "work_ids": "1-10000000"}
    place.refused(place.submits_by_http(wanted), "work IDs")
    with place.sender() as sender:
        by_message = sender.submits(wanted)
    place.refused(by_message, "work IDs")
    return place.refused(place.submits(json.dumps(wanted)), "work IDs")


@attack("the largest chunk plan that is accepted, and its cancellation")
def largest_plan(place: Installation) -> str:
    return _planned_and_cancelled(place, {"app": "many", "work_ids": f"1-{IDS_MAX}"})


@attack("20,000 keys in one submission, and its cancellation")
def many_keys(place: Installation) -> str:
    keys = [str(number) for number in range(20_000)]
    return _planned_and_cancelled(place, {"app": "waits", "keys": keys})


@attack("a landing of 3.3 million days")
def many_landings(place: Installation) -> str:
    before = place.dead_letters()
    ranges = ["1001-01-01..9998-01-01"]
    answer = place.operator.posts("/api/partitions/daily/land", {"partitions": ranges})
    assert answer.status in {400, 422}, answer
    with place.sender() as sender:
        sender.puts(json.dumps(envelope({"table": "daily", "partitions": ranges}, "days", "landed")).encode())
    place.wait(lambda: place.dead_letters() == before + 1, within_s=30)
    return line(str(answer.document["detail"]))


@attack("a submission that is cancelled while it is planned")
def cancelled_while_planned(place: Installation) -> str:
    id_ = place.submits(json.dumps({"app": "many", "work_ids": f"1-{IDS_MAX // 4}"}))
    answer = place.operator.posts(f"/api/submissions/{id_}/cancel")
    assert answer.status == 200, answer
    state, _ = place.settled(id_, within_s=120)
    assert state == "cancelled", state
    return line(f"it is {state}, with {place.jobs_of('many')} jobs left to run")


@attack("a range of 2,700 years by the hour")
def many_partitions(place: Installation) -> str:
    wanted = {"app": "hours", "start": "1001-01-01-00", "end": "3700-01-01-00"}
    return place.refused(place.submits(json.dumps(wanted)), "partitions")


@attack("a range of 9,000 years as a single job")
def many_partitions_of_one_job(place: Installation) -> str:
    wanted = {"app": "millennium", "start": "1001-01-01-00", "end": "9998-01-01-00"}
    with place.sender() as sender:
        return place.refused(sender.submits(wanted), "partitions")


@attack("large kwargs, once for each of 1,000 keys")
def amplified_kwargs(place: Installation) -> str:
    keys = [str(number) for number in range(1000)]
    before = _size(place)
    fits = {"app": "waits", "keys": keys, "kwargs": {"x": secrets.token_hex(KWARGS_BYTES_MAX // 2 - 100)}}
    id_ = place.submits(json.dumps(fits))
    place.wait(lambda: place.state(id_) == "active", within_s=60, explain=lambda: place.state(id_))
    grown = _size(place) - before
    assert grown < GROWTH_BYTES_MAX, f"the ledger has grown by {grown // _MIB} MiB"
    assert place.operator.posts(f"/api/submissions/{id_}/cancel").status == 200
    return f"the ledger has grown by {grown // _MIB} MiB"


def _planned_and_cancelled(place: Installation, wanted: Mapping[str, Any]) -> str:
    """Plan and cancel a submission that is accepted. Return the durations."""
    began = time.monotonic()
    id_ = place.submits(json.dumps(wanted))
    place.wait(
        lambda: place.state(id_) == "active", within_s=PLANNED_WITHIN_S, explain=lambda: place.state(id_)
    )
    planned_s = time.monotonic() - began
    answer = place.operator.posts(f"/api/submissions/{id_}/cancel")
    assert answer.status == 200, answer
    state, _ = place.settled(id_, within_s=PLANNED_WITHIN_S)
    assert state == "cancelled", state
    cancelled_s = time.monotonic() - began - planned_s
    return f"planned in {planned_s:.1f} s, cancelled in {cancelled_s:.1f} s"


def _size(place: Installation) -> int:
    return int(place.asks("SELECT pg_database_size(current_database())")[0][0])
