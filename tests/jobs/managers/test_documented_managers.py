"""The job managers in the documentation, and its conformance test, work as documented."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.model.job import Ending
from tests.jobs.managers.commands import folder_of
from tests.jobs.runners.runner_bench import Bench
from tests.jobs.runners.scripted_grid import Tie

ROOT = Path(__file__).parents[3]
PAGES = [(ROOT / "docs" / f"{name}.md").read_text() for name in ("external-work", "long-commands", "spark")]
_BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = {name: text for page in PAGES for name, text in _BLOCK.findall(page)}
#: Replacements of Slurm's programs. A job is a file, named by its number. It contains the mark and the key of the job,
#: and the key determines its behaviour.
SLURM = {
    "sbatch": 'id=$(ls | wc -l); echo "$2 $4" >"$id"; echo "$id"',
    "squeue": 'for id in $(grep -l -- "$3 endless" *); do [ -e "$id.gone" ] || echo "$id"; done',
    "sacct": """
id=${4#--jobs=}
[ -e "$id" ] || { echo "sacct: fatal: Bad job/step specified: $id" >&2; exit 1; }
[ -e "$id.gone" ] && { echo CANCELLED; exit; }
case $(cat "$id") in *brief) echo COMPLETED ;; *failing) echo FAILED ;; *) echo RUNNING ;; esac""",
    "scancel": 'grep -q endless "$1" && touch "$1.gone" || true',
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


def test_the_conformance_test_on_the_page_passes_for_its_slurm_manager(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "queue").mkdir()
    for name, text in SLURM.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\ncd '{tmp_path}/queue'\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "test_slurm.py"),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stdout
    assert "10 passed" in told.stdout


def test_the_local_command_on_the_page_runs(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "rebuild.sh").write_text("#!/bin/sh\necho rebuilt $2\n")
    (tmp_path / "rebuild.sh").chmod(0o755)
    tie = Tie()
    app = load(["nightly.py"]).app("rebuild")
    outcome = bench.run(bench.assign(app, key="2026-11-20", ids={"date": "2026-11-20"}), attachment=tie)
    assert outcome.ending is Ending.DONE, outcome.error
    assert outcome.output.endswith("rebuilt 2026-11-20\n")
    assert folder_of(tie.kept[0]).is_relative_to(tmp_path / ".sluice" / "processes")


def test_the_spark_manager_on_the_page_can_be_loaded() -> None:
    assert load(["features.py"]).app("features").manager is not None
