from datetime import date

from fan_out import report
from prefect.testing.utilities import prefect_test_harness


def test_report():
    with prefect_test_harness():
        assert report(date(2026, 11, 20)) == 13
