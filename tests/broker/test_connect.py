"""Errors for broker URLs that cannot be used."""

import pytest

from sluice.broker.connect import connect
from sluice.jobs.errors import BadSetting

WRONG = {
    "no URL": ("", "has no scheme"),
    "another scheme": ("http://user:secret@host", "has the scheme 'http'"),
    "no host": ("amqp://", "names no host"),
    "no port number": ("amqp://user:secret@host:port", "is not a URL"),
    "no database number": ("redis://user:secret@host/jobs", "'/jobs', which is no number"),
    "a wrong option": ("amqp://user:secret@host/?heartbeat=often", "heartbeat"),
}


@pytest.mark.parametrize(("url", "why"), WRONG.values(), ids=WRONG)
def test_a_wrong_address_is_an_error_with_a_reason_and_no_password(url: str, why: str) -> None:
    with pytest.raises(BadSetting, match=why) as raised:
        connect(url)
    assert "secret" not in f"{raised.value.what}{raised.value.where}{raised.value.advice}"


def test_the_error_names_the_setting() -> None:
    with pytest.raises(BadSetting, match=r"^SLUICE_BROKER_URL has no scheme"):
        connect("localhost")


def test_an_unknown_queue_type_is_an_error() -> None:
    with pytest.raises(BadSetting, match="'mirrored' is not one of quorum, classic"):
        connect("amqp://host", queue_type="mirrored")
