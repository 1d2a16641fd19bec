"""pytest plugin of Sluice: the fixture ``pipeline``, a pipeline in virtual time.

    def test_the_report_survives_a_bad_night(pipeline):
        run = pipeline("pipeline.py", faults=Faults(lose=0.2, kill_worker_every_s=60))
        run.submit("report", "2026-11-20")
        run.until_quiet()
        assert run.state("report", "2026-11-20") == "succeeded"

The plugin is loaded wherever Sluice is installed and pytest runs, so it imports next to nothing before a test uses
it. Each ``pipeline(…)`` has a ledger of its own. All ledgers are on one Postgres server, which is started for the
session.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sluice.jobs.simulated import Doing, Faults
    from sluice.ops.simulation.pipeline import Simulated

#: Virtual time at the beginning. Default of ``starts``.
BEGINS = "2026-01-01T00:00:00Z"
_MADE = pytest.StashKey[list["Simulated"]]()


class LedgerPool:
    """Ledgers on one server. Each is made on first use, and used again by the next test."""

    def __init__(self, home: Path, opened: ExitStack) -> None:
        self._home = home
        self._opened = opened
        self._urls: list[str] = []

    def url(self, place: int) -> str:
        """Return the URL of the ledger for the pipeline with this number in its test. No pipeline uses the first
        ledger, because the others are copies of it.
        """
        from sluice.ledger import fixtures  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.ledger.embedded import start  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.ledger.schema import migrate  # noqa: PLC0415 - most sessions of pytest have no use for it

        if not self._urls:
            server = self._opened.enter_context(start(self._home, durable=False))
            migrate.upgrade(server.url)
            self._urls.append(server.url)
        while place + 1 >= len(self._urls):
            self._urls.append(
                self._opened.enter_context(fixtures.scratch_ledger(self._urls[0], is_copy=True))
            )
        return self._urls[place + 1]


class Pipelines:
    """Type of the fixture ``pipeline``. If it is called, it makes a pipeline in virtual time."""

    def __init__(self, ground: LedgerPool, stores: Path, seed: int, made: list[Simulated]) -> None:
        self._ground = ground
        self._stores = stores
        self._seed = seed
        self._made = made

    def __call__(
        self,
        *sources: str,
        work: Mapping[str, Doing] | Doing = 1.0,
        faults: Faults | None = None,
        what_if: Mapping[str, Mapping[str, object]] = {},
        contexts: Mapping[str, object] = {},
        workers: int = 2,
        threads: int = 4,
        starts: str = BEGINS,
        seed: int | None = None,
    ) -> Simulated:
        """Make a pipeline from these sources, which are as in ``--apps``. ``work`` is the duration and outcome of
        jobs, by app or for all apps. ``what_if`` replaces options by app. ``contexts`` replaces the ``context`` by
        saga. ``seed`` decides all random choices. Default: the seed of the session.
        """
        from sluice.jobs.blobs import BlobStore  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.catalogue import load  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.policy.sandbox_settings import Fence  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.programs.source import Rules  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.programs.store import ProgramStore  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.runners.process.sandbox import Sandbox  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.runners.resources import Stores  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.simulated import NO_FAULTS  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.jobs.text.units import parse_instant  # noqa: PLC0415 - most sessions of pytest have no use for it
        from sluice.ops.simulation.pipeline import Simulated, with_contexts  # noqa: PLC0415 - most sessions of pytest have no use for it

        simulated = Simulated(
            self._ground.url(len(self._made)),
            with_contexts(load(sources, instead=what_if), contexts),
            seed=self._seed if seed is None else seed,
            faults=faults or NO_FAULTS,
            doing=work,
            stores=Stores(
                programs=ProgramStore(self._stores / "programs", Rules()),
                blobs=BlobStore(str(self._stores / "blobs")),
                sandbox=Sandbox(Fence()),
            ),
            workers=workers,
            threads=threads,
            start=parse_instant(starts),
        )
        self._made.append(simulated)
        return simulated


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sluice", "pipelines in virtual time (Sluice)")
    group.addoption(
        "--sluice-seed", type=int, default=0, metavar="N", help="seed of all random choices (default: 0)"
    )
    group.addoption(
        "--sluice-seeds",
        type=int,
        metavar="N",
        help="run each test of a pipeline with N seeds, from 0 on",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds: int | None = metafunc.config.getoption("--sluice-seeds")
    if seeds is not None and "pipeline" in metafunc.fixturenames:
        metafunc.parametrize("pipeline", range(seeds), indirect=True, ids=lambda seed: f"seed{seed}")


@pytest.fixture(scope="session")
def _sluice_ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerPool]:
    with ExitStack() as opened:
        yield LedgerPool(tmp_path_factory.mktemp("sluice"), opened)


@pytest.fixture
def pipeline(
    request: pytest.FixtureRequest, _sluice_ground: LedgerPool, tmp_path: Path
) -> Iterator[Pipelines]:
    """Yield a function that takes sources of definitions and returns a pipeline in virtual time."""
    made = request.node.stash.setdefault(_MADE, [])
    seed = getattr(request, "param", request.config.getoption("--sluice-seed"))
    yield Pipelines(_sluice_ground, tmp_path, seed, made)
    for simulated in made:
        simulated.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    made = item.stash.get(_MADE, [])
    if report.when == "call" and report.failed and made:
        report.sections.append(("Sluice: the pipelines of this test", "\n".join(_told(item, made))))
    return report


def _told(item: pytest.Item, made: Sequence[Simulated]) -> Iterator[str]:
    """Yield the command that repeats the failure, and the faults that had happened."""
    many = item.config.getoption("--sluice-seeds")
    option = f"--sluice-seed {made[0].seed}" if many is None else f"--sluice-seeds {many}"
    yield f'replay: python -m pytest "{item.nodeid}" {option}'
    for simulated in made:
        yield f"seed {simulated.seed}, after {simulated.now - simulated.began}:"
        yield from (f"  {line}" for line in simulated.faults() or ["no faults had happened"])
