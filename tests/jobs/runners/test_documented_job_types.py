"""Examples of the pages about types of jobs and their output, run with fake Slurm programs that print the contents of
files.
"""

import os
import re
import sys
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.model.app import App
from sluice.jobs.model.external_work import WorkOwner
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.runners.run_output import captured_runs
from tests.jobs.runners.runner_bench import Bench, error_of, eventually
from tests.jobs.runners.scripted_grid import Tie

DOCS = Path(__file__).parents[3] / "docs"
EXTERNAL, LONG_RUNNING, OUTPUT, SPARK = (
    (DOCS / f"{name}.md").read_text() for name in ("external-work", "long-running", "output", "spark")
)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Fake Slurm program. It logs its arguments and prints the answer that the test has stored for it.
PROGRAM = '#!/bin/sh\necho "${0##*/} $*" >> "$SLURM/calls"\ncat "$SLURM/${0##*/}" 2>/dev/null || true\n'


def _block(page: str, language: str, about: str = "") -> str:
    return next(text for found, text in _BLOCK.findall(page) if found == language and about in text)


class Slurm:
    """Fake Slurm with four programs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        for name in ("squeue", "sbatch", "sacct", "scancel"):
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(PROGRAM)
            program.chmod(0o755)
        (folder / "slurm.py").write_text(_block(EXTERNAL, "python", "class train"))
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
        monkeypatch.setenv("SLURM", str(folder))
        self.answer(sbatch="4711", sacct="COMPLETED")

    @property
    def app(self) -> App:
        return load([str(self.folder / "slurm.py")]).app("train")

    @property
    def calls(self) -> list[str]:
        """The programs that were called, in order."""
        if not (self.folder / "calls").exists():
            return []
        return [line.split()[0] for line in (self.folder / "calls").read_text().splitlines()]

    def answer(self, **answers: str) -> None:
        for name, text in answers.items():
            (self.folder / name).write_text(f"{text}\n")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return Slurm(tmp_path, monkeypatch)


def _run(bench: Bench, slurm: Slurm, tie: Tie) -> Outcome:
    return bench.run(bench.assign(slurm.app), attachment=tie)


def test_the_documented_manager_starts_stores_and_polls_work(bench: Bench, slurm: Slurm) -> None:
    tie = Tie()
    assert _run(bench, slurm, tie).ending is Ending.DONE
    assert slurm.calls == ["squeue", "sbatch", "sacct"]
    assert tie.kept == ["4711"]


def test_the_documented_manager_finds_work_that_a_dead_worker_started(bench: Bench, slurm: Slurm) -> None:
    assert _run(bench, slurm, Tie(handle="4711")).ending is Ending.DONE
    assert slurm.calls == ["sacct"]
    slurm.answer(squeue="4712")
    tie = Tie()
    assert _run(bench, slurm, tie).ending is Ending.DONE
    assert tie.kept == ["4712"], "it had not been kept, but it bore the job's mark"
    assert "sbatch" not in slurm.calls


def test_the_documented_manager_reports_why_the_work_failed(bench: Bench, slurm: Slurm) -> None:
    slurm.answer(sacct="OUT_OF_MEMORY")
    assert error_of(_run(bench, slurm, Tie())) == "Slurm says OUT_OF_MEMORY"


def test_the_documented_manager_ends_work_that_no_claim_owns(bench: Bench, slurm: Slurm) -> None:
    slurm.answer(sacct="RUNNING")
    tie = Tie(keeper=WorkOwner.NONE)
    running = bench.meanwhile(lambda: _run(bench, slurm, tie))
    eventually(lambda: "sacct" in slurm.calls)
    bench.stop.set()
    assert running.result(timeout=20).ending is Ending.HANDED_BACK
    assert slurm.calls[-1] == "scancel"
    assert tie.forgotten == ["4711"]


def test_the_output_of_the_documented_function_is_as_shown(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "invoices.py").write_text(_block(OUTPUT, "python", "def invoices"))
    app = load([str(tmp_path / "invoices.py")]).app("invoices")
    with captured_runs(passes_on=False):
        outcome = bench.run(bench.assign(app, key="202611", ids={"month": "202611"}))
    shown = re.search(r"shows:\n\n```\n(.*?)```", OUTPUT, re.DOTALL)
    assert shown is not None
    stamp = re.compile(r"^\S+Z ", re.MULTILINE)
    assert stamp.sub("", outcome.output) == stamp.sub("", shown[1])
    assert outcome.stderr == "3 invoices have no address\n"


def test_the_documented_spark_app_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").touch()
    (tmp_path / "acme" / "features.py").write_text("def main(elem): ...\n")
    (tmp_path / "apps.yaml").write_text(_block(SPARK, "yaml", "pyspark"))
    assert load(["apps.yaml"]).app("features").spark


@pytest.mark.usefixtures("slurm")
def test_the_documented_stream_loads_and_its_reader_requires_it_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = re.sub(r"^@app\(.*\n", "", _block(EXTERNAL, "python", "class train"), flags=re.MULTILINE)
    (tmp_path / "flink.py").write_text(plain.replace("class train", "class Flink"))
    (tmp_path / "apps.yaml").write_text(_block(LONG_RUNNING, "yaml", "is_long_running"))
    (tmp_path / "pipeline.py").write_text(_block(LONG_RUNNING, "python", "is_long_running"))
    for source in ("apps.yaml", "pipeline.py"):
        found = load([str(tmp_path / source)])
        assert found.app("clicks").unbounded
        dashboard = found.app("dashboard")
        assert [parents.when for group in dashboard.groups for parents in group.all_of] == ["running"]
