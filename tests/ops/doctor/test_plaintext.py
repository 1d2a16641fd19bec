"""Servers that must not be contacted in plain text: the doctor reports them and does not connect."""

from pathlib import Path

import pytest

from tests.ops.typist import Typist
from tests.unheard import unheard


@pytest.mark.parametrize("scheme", ["amqp", "redis"])
def test_the_doctor_does_not_connect_to_a_broker_in_plain_text(tmp_path: Path, scheme: str) -> None:
    with unheard() as place:
        said = Typist(tmp_path, SLUICE_PLAINTEXT="refuse").types("doctor", "--broker", f"{scheme}://{place}")
    assert said.code == 1
    assert f"bad  broker        SLUICE_BROKER_URL: {scheme}:// is plain text." in said.out


def test_the_doctor_opens_no_definitions_or_ledger_in_plain_text(tmp_path: Path) -> None:
    with unheard() as place:
        typist = Typist(tmp_path, SLUICE_PLAINTEXT="refuse", SLUICE_APPS=f"redis://u:secret@{place}/0/apps")
        said = typist.types("doctor", "--ledger", f"postgresql://u:secret@{place}/sluice")
    assert said.code == 1
    assert "bad  definitions   SLUICE_APPS: redis:// is plain text." in said.out
    assert "bad  ledger        SLUICE_LEDGER_URL: sslmode is prefer" in said.out
    assert "secret" not in said.out
