"""The trial of ``operator_trial`` in the size of a small installation's day: 3,000 jobs.

The seconds from the end of each fault to the next success are in the report of the test run.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from tests.live.operator_trial import TrialSize, run, trial

SIZE = TrialSize(
    keys=750,
    left_s=6.0,
    left_every=10,
    sink_s=20.0,
    sink_every=25,
    lease_s=6.0,
    outage_s=20.0,
    hang_s=25.0,
)
#: Seconds within which work goes on after a fault of the network: 15, far above the one to two seconds that it takes.
#: After a SIGKILL or a SIGSTOP the jobs wait for the lease as well.
RESUMES_WITHIN_S = 15.0


@pytest.mark.timeout(1200)
def test_every_fault_leaves_few_lines_and_no_job_is_lost_or_ends_twice(
    ledger: Ledger, rabbitmq: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with trial(SIZE, ledger, rabbitmq, tmp_path) as made:
        run(made)
        record_property("seconds to resume", made.resumed_s)
    assert max(made.resumed_s.values()) < RESUMES_WITHIN_S, made.resumed_s
