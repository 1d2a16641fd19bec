"""docs/output.md and docs/history.md: the record and the log of a job are as shown, and their Python code runs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from sluice.actors.connect import connect
from sluice.jobs.model.history import Passage
from sluice.jobs.model.job import Ending
from tests.ops.typist import ROOT
from tests.world import World

OUTPUT, HISTORY = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("output", "history"))
_CODE = re.compile(r"^```python\n(from sluice import connect\n.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGING = re.compile(r"^\S+ \S+ - |(?<= on )\S+$", re.MULTILINE)


@pytest.fixture
def failed(world: World) -> World:
    """Return a ledger with the job of the page, whose first round has failed."""
    world.define({"fetch": {"job_id": "{date}_{shop}", "bash_cmd": "true", "max_fails": 1}})
    world.submit("fetch", "20261120_oslo")
    world.record(
        world.take("fetch/20261120_oslo"), Ending.ERROR, output="trying\n", stderr="no route to host\n"
    )
    return world


def test_the_record_and_the_log_of_a_failed_round_are_as_shown(failed: World) -> None:
    with connect(ledger_url=failed.url) as client:
        job = client.job("fetch", "20261120_oslo")
    assert job is not None
    shown: Mapping[str, str] = json.loads("{" + _block(HISTORY, r'```json\n("record".*?)```') + "}")["record"]
    assert list(job.record) == list(shown)
    assert [job.record[name] for name in ("0:output", "0:error")] == [shown["0:output"], shown["0:error"]]
    assert _CHANGING.sub("", "\n".join(job.log)) == _CHANGING.sub("", _block(HISTORY, r"```\n(2026.*?)\n```"))


def test_the_page_names_each_entry_of_a_record() -> None:
    assert [word for word in Passage if f"`R:{word}`" not in HISTORY] == []


def test_the_python_code_of_the_page_about_output_runs(
    failed: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (code,) = _CODE.findall(OUTPUT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLUICE_LEDGER_URL", failed.url)
    exec(compile(code.replace('"invoices", "202611"', '"fetch", "20261120_oslo"'), "page", "exec"), {})
    assert capsys.readouterr().out != ""


def _block(page: str, pattern: str) -> str:
    found = re.search(pattern, page, re.DOTALL)
    assert found is not None
    return found[1]
