"""What must not be spoken to in plain text is not looked at either, and that is said."""

from pathlib import Path

import pytest

from tests.ops.typist import Typist
from tests.unheard import unheard


@pytest.mark.parametrize("scheme", ["amqp", "redis"])
def test_a_broker_that_must_not_be_spoken_to_is_not_looked_at(tmp_path: Path, scheme: str) -> None:
    with unheard() as place:
        said = Typist(tmp_path, SLUICE_PLAIN_TEXT="refuse").types("doctor", "--broker", f"{scheme}://{place}")
    assert said.code == 1
    assert f"bad  broker        SLUICE_BROKER_URL: {scheme}:// is plain text." in said.out


def test_nor_are_definitions_or_a_ledger_that_must_not_be(tmp_path: Path) -> None:
    with unheard() as place:
        typist = Typist(tmp_path, SLUICE_PLAIN_TEXT="refuse", SLUICE_APPS=f"redis://u:secret@{place}/0/apps")
        said = typist.types("doctor", "--ledger", f"postgresql://u:secret@{place}/sluice")
    assert said.code == 1
    assert "bad  definitions   SLUICE_APPS: redis:// is plain text." in said.out
    assert "bad  ledger        SLUICE_LEDGER_URL: sslmode is prefer" in said.out
    assert "secret" not in said.out
