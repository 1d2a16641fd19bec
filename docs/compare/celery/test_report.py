from datetime import date

import pytest
from fan_out import report


@pytest.fixture(scope="session")
def celery_config():
    return {"broker_url": "memory://", "result_backend": "cache+memory://"}


def test_report(celery_session_app, celery_session_worker):
    assert report(date(2026, 11, 20)).delay().get(timeout=10) == 13
