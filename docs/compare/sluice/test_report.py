from sluice.testing import Took


def test_report(pipeline):
    run = pipeline("fan_out.py", work=Took(1, real=True))
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.result("report", "2026-11-20") == 13
