"""The trial of ``operator_trial`` in its full size, and with Redis.

The seconds from the end of each fault to the next success are in the report of the test run. Measured with the full
size on two cores: 0.8 s after a cut of the broker, 0.2 s after a cut of the ledger, 0.1 s after a ledger that hung,
0.5 s after a cut of both. From the exit of a worker by SIGTERM it took 3.5 s, with its restart. After a SIGKILL or a
SIGSTOP the other worker continues at once. The jobs that were taken back follow when the lease has ended.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from tests.live.operator_trial import FULL, SMALL, TrialSize, run, trial

#: Seconds within which work goes on after a fault: 15, far above the one to two seconds that it takes.
RESUMES_WITHIN_S = 15.0


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("broker", "size"), [("rabbitmq", FULL), ("redis", SMALL)], ids=["rabbitmq-full", "redis-small"]
)
def test_every_fault_leaves_few_lines_and_no_job_is_lost_or_ends_twice(
    ledger: Ledger,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_testsuite_property: Callable[[str, object], None],
    *,
    broker: str,
    size: TrialSize,
) -> None:
    with trial(size, ledger, request.getfixturevalue(broker), tmp_path) as made:
        run(made)
    record_testsuite_property("seconds to resume", made.resumed_s)
    assert max(made.resumed_s.values()) < RESUMES_WITHIN_S, made.resumed_s
