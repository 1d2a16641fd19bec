"""One sitting: all workloads in turn, several times."""

import subprocess
import sys
from collections.abc import Callable, Iterable

import msgspec

from jobs.errors import SluiceError
from ledger.scratch import scratch_ledger
from ops.bench.sample import Figures, Summary, summaries


def sit(
    workloads: Iterable[str], *, runs: int, ledger_url: str, began: Callable[[str, int], None]
) -> list[Summary]:
    """Every workload ``runs`` times, A B A B, each run on an empty ledger on the server at ``ledger_url``."""
    found: dict[str, list[Figures]] = {name: [] for name in workloads}
    for turn in range(runs):
        for name, figures in found.items():
            began(name, turn)
            with scratch_ledger(ledger_url) as url:
                figures.append(_run(name, url))
    return [summary for name, figures in found.items() for summary in summaries(name, figures)]


def _run(name: str, ledger_url: str) -> Figures:
    command = [sys.executable, "-m", "ops.bench.once", name, ledger_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SluiceError(f"The workload {name} broke off.", where=done.stderr.strip().rpartition("\n")[2])
    figures: Figures = msgspec.json.decode(done.stdout, type=dict[str, float])
    return figures
