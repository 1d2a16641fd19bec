"""The trial of ``operator_trial`` in its small size."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from tests.live.operator_trial import SMALL, run, trial


@pytest.mark.timeout(240)
def test_every_fault_leaves_few_lines_and_no_job_is_lost_or_ends_twice(
    ledger: Ledger, rabbitmq: str, tmp_path: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    with trial(SMALL, ledger, rabbitmq, tmp_path) as made:
        run(made)
        record_testsuite_property("seconds to resume", made.resumed_s)
