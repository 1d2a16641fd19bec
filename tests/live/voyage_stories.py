"""Results of voyages and seasons: the ledger's record, compared with the effects of the jobs."""

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import product
from pathlib import Path
from typing import NamedTuple

from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.live.voyages import APART, FIRST_DAY, IRREVERSIBLE, RANKS, UNDOES, fails, undone_by

_SUBMISSIONS = "SELECT id, state, reason FROM submission"
_JOBS = """
SELECT app, key, state, EXISTS (
    SELECT 1 FROM transition WHERE transition.job = job.id AND target = 'succeeded') AS has_succeeded
FROM job
"""


class Ran(NamedTuple):
    state: State
    has_succeeded: bool


class Asked(NamedTuple):
    state: SubmissionState
    reason: str | None


Jobs = Mapping[tuple[str, str], Ran]


class Story:
    """The ledger's record of each saga, and the effects of its jobs. Jobs are (app, key)."""

    def __init__(self, ledger: Ledger, folder: Path, sagas: Sequence[str]) -> None:
        self._asked = asked_of(ledger)
        self._jobs: dict[str, dict[tuple[str, str], Ran]] = {}
        for name, ran in jobs_of(ledger).items():
            done = undone_by(*name) if name[0] in UNDOES else name
            self._jobs.setdefault(saga_of(*done), {})[name] = ran
        made = (file.name.removeprefix("effects.made.") for file in folder.glob("effects.made.*"))
        self._made = {(app, key) for app, _, key in (name.partition(".") for name in made)}
        self._lines = [
            (app, key) for app, key in map(str.split, (folder / "effects").read_text().splitlines())
        ]
        self.sagas = sagas
        self.whole = [id_ for id_ in self.sagas if self._asked[id_].state is SubmissionState.SUCCEEDED]
        ends = {id_: self._asked[f"{id_}/compensation"].state for id_ in self.sagas if id_ not in self.whole}
        self.undone = [id_ for id_, state in ends.items() if state is SubmissionState.SUCCEEDED]
        self.parked = [id_ for id_, state in ends.items() if state is SubmissionState.FAILED]

    def check(self, saga: str) -> None:
        if saga in self.whole:
            self._check_whole(saga)
            return
        assert saga in {*self.undone, *self.parked}, self._told(saga)
        self._check_order(saga)
        self._check_named(saga)
        undo = self._of(saga, UNDOES)
        for name, ran in self._of(saga, RANKS).items():
            by = next((undo[each] for each in undo if undone_by(*each) == name), None)
            if by is None:
                # It has no undo, cannot be undone, or never succeeded.
                assert not ran.has_succeeded or name[0] not in UNDOES.values(), self._told(saga, name)
            elif by.state is State.SUCCEEDED:
                assert ran.state is State.CANCELLED, self._told(saga, name)
                assert name not in self._made, self._told(saga, name)
            else:
                assert ran.state is State.SUCCEEDED, self._told(saga, name)
                assert name in self._made, self._told(saga, name)
        self._check_parked(saga, undo)

    def check_undone(self, saga: str) -> None:
        """Check a saga after all failed undos were tried again."""
        if saga in self.whole:
            self._check_whole(saga)
            return
        self._check_order(saga)
        for name, ran in self._of(saga, RANKS).items():
            if ran.has_succeeded and name[0] in UNDOES.values():
                assert ran.state is State.CANCELLED, self._told(saga, name)
                assert name not in self._made, self._told(saga, name)

    def tried_again(self) -> list[Submission]:
        """Return the submissions that rerun each failed undo."""
        return [
            Submission(app=app, key=key, rerun="job")
            for saga in self.parked
            for (app, key), ran in self._of(saga, UNDOES).items()
            if ran.state is State.FAILED
        ]

    def _check_whole(self, saga: str) -> None:
        assert {ran.state for ran in self._jobs[saga].values()} == {State.SUCCEEDED}, self._told(saga)
        assert self._of(saga, UNDOES) == {}, self._told(saga)
        assert self._of(saga, RANKS).keys() <= self._made, self._told(saga)

    def _check_order(self, saga: str) -> None:
        """Check that nothing is undone before all that depended on it."""
        undo = [name for name in self._of(saga, UNDOES) if name in self._lines]
        for early, late in product(undo, undo):
            done, came = undone_by(*early), undone_by(*late)
            if RANKS[done[0]] < RANKS[came[0]] and _meet(done[1], came[1]):
                last = len(self._lines) - self._lines[::-1].index(late)
                assert last <= self._lines.index(early), self._told(saga, early)

    def _check_named(self, saga: str) -> None:
        reason = self._asked[f"{saga}/compensation"].reason or ""
        lasting = [name for name, ran in self._of(saga, RANKS).items() if name[0] == IRREVERSIBLE]
        for app, key in lasting:
            is_done = self._jobs[saga][app, key].state is State.SUCCEEDED
            assert (f"irreversible: {app}/{key}" in reason) == is_done, self._told(saga)

    def _check_parked(self, saga: str, undo: Jobs) -> None:
        """Check which undos failed and which are blocked.

        The failed ones are exactly the tried undos that always fail. The blocked ones are exactly those after a failed
        one.
        """
        failed = {name for name, ran in undo.items() if ran.state is State.FAILED}
        tried = {name for name, ran in undo.items() if ran.state is not State.UPSTREAM_FAILED}
        assert failed == {name for name in tried if fails(*name)}, self._told(saga)
        assert (saga in self.parked) == bool(failed), self._told(saga)
        for name, ran in undo.items():
            blocked = any(
                RANKS[UNDOES[name[0]]] < RANKS[UNDOES[each[0]]]
                and _meet(undone_by(*name)[1], undone_by(*each)[1])
                for each in failed
            )
            assert (ran.state is State.UPSTREAM_FAILED) == blocked, self._told(saga, name)

    def _of(self, saga: str, apps: Mapping[str, object]) -> Jobs:
        return {name: ran for name, ran in self._jobs.get(saga, {}).items() if name[0] in apps}

    def _told(self, saga: str, name: tuple[str, str] | None = None) -> str:
        jobs = "\n".join(
            f"{'/'.join(each)} {ran.state} {each in self._made}" for each, ran in self._jobs[saga].items()
        )
        lines = [line for line in self._lines if line in self._jobs[saga]]
        asked = self._asked[saga], self._asked.get(f"{saga}/compensation")
        return f"{saga}: {name}\n{asked}\n{jobs}\n{lines}"


def saga_of(app: str, key: str) -> str:
    """Return the saga to which this job belongs. The job is not an undo."""
    if app in {"lay", "fill", "sum", "publish"}:
        return f"season-{(date.fromisoformat(key[:10]) - FIRST_DAY).days // APART}"
    return f"voyage-{key.partition('_')[0]}"


def _meet(one: str, other: str) -> bool:
    """Return whether two jobs of one saga have a day in common. Jobs of a voyage always do."""
    if "-" not in one:
        return True
    starts, ends = zip(*map(_days, (one, other)), strict=True)
    return max(starts) <= min(ends)


def _days(key: str) -> tuple[str, str]:
    start, _, end = key.partition("@")[0].partition("..")
    return start, end or start


def asked_of(ledger: Ledger) -> dict[str, Asked]:
    rows = ledger.transact(lambda tx: tx.rows(_SUBMISSIONS))
    return {id_: Asked(SubmissionState(state), reason) for id_, state, reason in rows}


def jobs_of(ledger: Ledger) -> dict[tuple[str, str], Ran]:
    rows = ledger.transact(lambda tx: tx.rows(_JOBS))
    return {(app, key): Ran(State(state), has_succeeded) for app, key, state, has_succeeded in rows}
