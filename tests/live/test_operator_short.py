"""The trial of ``operator_trial`` in a small size: 168 jobs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from tests.live.operator_trial import TrialSize, run, trial

SIZE = TrialSize(
    keys=42, left_s=4.0, left_every=3, sink_s=4.0, sink_every=10, lease_s=3.0, outage_s=3.0, hang_s=4.5
)


@pytest.mark.timeout(240)
def test_every_fault_leaves_few_lines_and_no_job_is_lost_or_ends_twice(
    ledger: Ledger, rabbitmq: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with trial(SIZE, ledger, rabbitmq, tmp_path) as made:
        run(made)
        record_property("seconds to resume", made.resumed_s)
