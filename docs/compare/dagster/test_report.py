import dagster as dg
from fan_out import fetched, report


def test_report():
    result = dg.materialize([*fetched, report], partition_key="2026-11-20")
    assert result.output_for_node("report") == 13
