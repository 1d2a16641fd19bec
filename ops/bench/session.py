"""Benchmark session: all workloads in turn, several times."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from sluice.jobs.errors import SluiceError
from sluice.ledger.fixtures import scratch_ledger
from sluice.ops.bench.participants import CONTENDERS, OURS
from sluice.ops.bench.run_one import BenchRun
from sluice.ops.bench.sample import Figures, Summary, summaries
from sluice.ops.bench.shapes import COURSES

#: Lines of the output of a failed run that are reported.
_LAST_WORDS = 20


class Servers(Struct, frozen=True):
    """Servers for the runs. Each run has a scratch database beside the ledger; the broker and Redis are used as they
    are.
    """

    ledger_url: str
    broker_url: str
    results_url: str


class SessionEntry(Struct, frozen=True):
    """Workload that takes turns with others. ``contender`` is None for a workload of ``WORKLOADS``."""

    workload: str
    contender: str | None = None

    def __str__(self) -> str:
        return f"{self.workload} by {self.contender}" if self.contender else self.workload


def entries(workloads: Iterable[str], against: Sequence[str]) -> list[SessionEntry]:
    """Return the entries of a session. Contenders of the same workload are adjacent, Sluice first. A contender that
    cannot run a workload is left out.
    """
    return [entry for name in workloads for entry in _entries(name, against)]


def _entries(name: str, against: Sequence[str]) -> list[SessionEntry]:
    if name not in COURSES:
        return [SessionEntry(name)]
    return [
        SessionEntry(name, each)
        for each in dict.fromkeys([OURS, *against])
        if name in CONTENDERS[each].courses
    ]


def sit(
    entered: Iterable[SessionEntry],
    servers: Servers,
    *,
    runs: int,
    began: Callable[[SessionEntry, int], None],
    broke_off: Callable[[SessionEntry, SluiceError], None],
) -> list[Summary]:
    """Run every entry ``runs`` times in alternation (A B A B), each run on an empty ledger. If a run fails, the others
    go on.
    """
    found: dict[SessionEntry, list[Figures]] = {entry: [] for entry in entered}
    for turn in range(runs):
        for entry, figures in found.items():
            began(entry, turn)
            with scratch_ledger(servers.ledger_url) as url:
                run = BenchRun(entry.workload, entry.contender, url, servers.broker_url, servers.results_url)
                try:
                    figures.append(_run(run))
                except SluiceError as error:
                    broke_off(entry, error)
    return [
        summary
        for entry, figures in found.items()
        if figures
        for summary in summaries(entry.workload, entry.contender, figures)
    ]


def _run(run: BenchRun) -> Figures:
    command = [sys.executable, "-m", "sluice.ops.bench.run_one", msgspec.json.encode(run).decode()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-_LAST_WORDS:]
        raise SluiceError(f"The workload {run.name} failed.", where="\n".join(said))
    figures: Figures = msgspec.json.decode(done.stdout, type=dict[str, float])
    return figures
