"""Walks from the requested jobs to their missing parents, and the terms of the jobs that they reach.

A ``Walk`` (bubble up) serves all keyspaces. It is a dialogue. ``asks`` returns the jobs that it needs the state of.
``step`` takes these states, until the walk has arrived. So it stays pure, and any number of walks share one look-up per
step.

If a job is going to run, a parent that succeeded longer ago than ``max_lag`` allows counts as missing. That parent runs
again, and the walk continues upstream from it. In the same way, a job runs again if a partition that it reads has
changed since it succeeded.

``require_fit`` checks whether a submission's policy fits the requested app. ``terms_of`` returns the resulting terms
for each app.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import NamedTuple, Self

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.cycles import cycles
from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.catalogue.fields.submitter_options import refused_options
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import DEAD_FOR, MET, Gate, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, KnownJob, PlannedJob, RequestReason, RerunRequest
from sluice.jobs.model.pool import pool_of, rate_of, require_names
from sluice.jobs.model.request_limits import large_policy
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.policy.policy import Policy
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.states import DEAD, LIVE, TERMINAL, State
from sluice.planner.bubble_up.input_age import Ages
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.chunks.chunk_keys import no_such_chunk, was_split
from sluice.planner.keyspaces.protocol import Keyspace


class JobTerms(NamedTuple):
    """Terms for the jobs of one app. ``overrides`` are the options that replace options of its definition."""

    overrides: Mapping[str, JSON]
    policy: Policy


def mode_of(app: App, submission: Submission) -> Mapping[str, JSON]:
    """Return the app's options for the mode of the submission. Any option is accepted there, because the app's author
    wrote it."""
    modes = app.partitioning.modes if app.partitioning else {}
    return modes.get(submission.layout_mode or "", {})


def terms_of(app: App, asked: Mapping[str, JSON], mode: Mapping[str, JSON] = {}) -> JobTerms:
    """Return the terms for the jobs of an app; BadRequest if ``asked`` or ``mode`` cannot be read.

    ``asked`` is the policy of a submission, ``mode`` is the result of ``mode_of``. Options of the submission that the
    app does not leave to submitters do not apply. For the requested app, ``require_fit`` has refused them, so this
    concerns only the other apps that the submission reaches.
    """
    if not asked and not mode:
        return JobTerms({}, app.policy)
    refused = dict(refused_options(app.policy.overridden(parse_policy(mode)), asked))
    overrides = {**mode, **{option: value for option, value in asked.items() if option not in refused}}
    return JobTerms(overrides, app.policy.overridden(parse_policy(overrides)))


def require_fit(app: App, asked: Mapping[str, JSON], mode: Mapping[str, JSON] = {}) -> None:
    """Raise BadRequest if a submission for this app requests terms that do not fit it, or that submitters may not set.

    Other apps that the submission reaches keep their own terms instead, except that sagas among them obey ``debug``.
    """
    if not asked and not mode:
        return
    own = app.policy.overridden(parse_policy(mode))
    if refused := list(refused_options(own, asked)):
        raise BadRequest(
            f"policy: {'; '.join(f'{option}: {why}' for option, why in refused)}.",
            where=app.name,
            advice="Leave it out and submit again.",
        )
    policy = own.overridden(parse_policy(asked))
    if reason := large_policy({**mode, **asked}):
        raise BadRequest(f"Its {reason}.", where=app.name, advice="Shorten it and submit again.")
    require_names(app, policy)
    if app.saga is None and policy.debug != Debug():
        raise BadRequest(
            f"debug: {app.name} is no saga, so it has no steps that could fail.",
            where=app.name,
            advice="Leave it out, or submit the saga itself.",
        )


#: Maximum number of jobs that one submission may result in.
JOBS_MAX = 1_000_000

_UNDECIDED = frozenset({None, State.EXPECTED})
#: States in which a job is over. A cancelled job is not: it runs when it is wanted again, and then requests its parents
#: like a new job.
_OVER = TERMINAL - {State.CANCELLED}
_UNDER_WAY = LIVE - {State.EXPECTED}


class Walk:
    """Walk of one submission. Any method raises BadRequest if the submission cannot be carried out.

    ``now`` is the time by which the age of inputs is judged. Without it, inputs may be of any age.
    """

    #: Reason of the requests for the roots.
    _asked_as: RequestReason = RequestReason.ASKED

    def __init__(
        self, catalogue: Catalogue, number: int, submission: Submission, now: datetime | None = None
    ) -> None:
        if submission.after is not None:
            raise BadRequest(
                "after is only for submissions of work IDs.",
                where=submission.app,
                advice="Leave it out: the definition of an app determines the parents of a job with a key.",
            )
        self.number = number
        self.submission = submission
        self._catalogue = catalogue
        self._terms: dict[str, JobTerms] = {}
        self._states: dict[JobName, State | None] = {}
        self._ages = Ages(catalogue, now) if now else None
        self._planned: dict[JobName, PlannedJob] = {}
        self._bridged = False
        self._choices: list[tuple[JobName, tuple[Gate, ...]]] = []
        self._added: dict[JobName, tuple[Need, ...]] = {}
        self._stale: dict[JobName, int] = {}
        self._outdated: dict[JobName, int] = {}
        self._taken_along: set[JobName] = set()
        self._revived: dict[JobName, None] = {}
        require_fit(catalogue.app(submission.app), submission.policy)
        self._roots = tuple(self._expand())
        self._asked_for = frozenset(self._roots)
        self._frontier = dict.fromkeys(self._roots)

    def asks(self) -> set[JobName]:
        """Return the jobs of which the states must be known before the walk can go on; empty when it has arrived."""
        unknown = {name for name in self._frontier if name not in self._states}
        for _, gates in self._choices:
            unknown.update(name for name in _parents(gates) if name not in self._states)
        return unknown

    def step(self, known: Mapping[JobName, KnownJob]) -> Self:
        """Go on with the states of the jobs that ``asks`` returned. A job missing from ``known`` is new to the
        ledger."""
        for name in self.asks():
            found = known.get(name)
            self._states[name] = found.state if found else None
            if found:
                self._note(name, found)
        choices, self._choices = self._choices, []
        for name, gates in choices:
            self._pull(name, gates)
        frontier, self._frontier = self._frontier, {}
        for name in frontier:
            self._visit(name)
        if len(self._planned) > JOBS_MAX:
            raise BadRequest(
                f"The submission results in more than {JOBS_MAX} jobs.", where=self.submission.app
            )
        if self._bridged and self.arrived:
            self._refuse_circles()
        return self

    def _note(self, name: JobName, found: KnownJob) -> None:
        if found.added:
            self._added.setdefault(name, found.added)
        if found.is_outdated:
            self._outdated[name] = found.claim
        if self._ages:
            self._ages.note(name, found)

    @property
    def arrived(self) -> bool:
        return not self._frontier and not self._choices

    def jobs(self) -> Iterable[PlannedJob]:
        """Return every wanted job, and every parent that a wanted job names."""
        return self._planned.values()

    def requests(self) -> Iterator[tuple[int, JobName, RequestReason]]:
        """Yield the jobs that this submission requests, each with the reason."""
        for name, job in self._planned.items():
            if job.standing is not EntryState.EXPECTED:
                yield (
                    self.number,
                    name,
                    self._asked_as if name in self._asked_for else RequestReason.PULLED,
                )

    def reruns(self) -> Iterator[RerunRequest]:
        """Yield the requested reruns, and the reruns of parents that are too old. Jobs that do not pass their filter
        are left out."""
        if self.submission.rerun is not None:
            names = tuple(name for name in self._roots if self._planned[name].standing is EntryState.WANTED)
            yield RerunRequest(self.number, names, self.submission.rerun == "downstream")
        if self._stale:
            yield RerunRequest(self.number, tuple(self._stale), stale=self._stale)
        if self._revived:
            yield RerunRequest(self.number, tuple(self._revived))

    def _expand(self) -> Iterable[JobName]:
        """Yield the requested jobs. A named key that fits no dependency group is refused, because its job would run
        without its parents."""
        app = self._catalogue.app(self.submission.app)
        keyspace = keyspace_of(app, self._catalogue)
        for key in keyspace.expand(app, self.submission):
            if self.submission.named_keys is not None:
                _require_match(keyspace, app, key)
            yield JobName(app.name, key)

    def _visit(self, name: JobName) -> None:
        if name in self._planned and self._planned[name].standing is not EntryState.EXPECTED:
            return
        state = self._states[name]
        app = self._catalogue.app(name.app)
        _require_possible(app, name, state)
        keyspace = keyspace_of(app, self._catalogue)
        again = self._runs_again(name) or self._refresh_outdated(name)
        if (state in _UNDECIDED or (again and state in TERMINAL)) and not keyspace.passes(app, name.key):
            self._add(name, EntryState.SKIPPED)
        elif again or state not in _OVER:
            self._add_run(keyspace, app, name)
        elif name in self._taken_along:
            self._look_behind(keyspace, app, name)
        else:
            self._add(name, EntryState.WANTED)

    def _add_run(self, keyspace: Keyspace, app: App, name: JobName) -> None:
        """Add a job that is going to run, with its needs. Its parents are requested when their states are known."""
        gates = self._gates(keyspace, app, name)
        if not gates:
            _require_match(keyspace, app, name.key)
        added = any(need.added for gate in gates for need in gate.needs)
        self._bridged = self._bridged or added or self._catalogue.has_bridges(app.name)
        # Chunks and compensations keep the needs that they were planned with.
        keeps = app.chunking or self._catalogue.undoes(name.app)
        self._add(name, EntryState.WANTED, gates, digest=None if keeps else app.digest)
        if gates:
            self._choices.append((name, gates))

    def _look_behind(self, keyspace: Keyspace, app: App, name: JobName) -> None:
        """Request the needs of a dead job that a rerun revives along with its child. The job itself is not wanted,
        because it keeps its terms."""
        if keyspace.passes(app, name.key) and (gates := self._gates(keyspace, app, name)):
            self._add(name, EntryState.EXPECTED, gates)
            self._choices.append((name, gates))

    def _gates(self, keyspace: Keyspace, app: App, name: JobName) -> tuple[Gate, ...]:
        return with_added(keyspace.gates(app, name.key), self._added_needs(name))

    def _added_needs(self, name: JobName) -> tuple[Need, ...]:
        """Return the needs of this job that do not come from its definition, as the ledger has them. When it runs
        again, another plan determines which chunks it needs."""
        added = self._added.get(name, ())
        if self._states[name] in _UNDER_WAY:
            return added
        return tuple(need for need in added if not self._catalogue.is_for_chunk(need))

    def _runs_again(self, name: JobName) -> bool:
        """Return whether the job will run even if it has ended."""
        is_asked = self.submission.rerun is not None and name in self._asked_for
        return is_asked or name in self._stale or name in self._revived

    def _pull(self, name: JobName, gates: tuple[Gate, ...]) -> None:
        """Request the parents of one gate, or of all gates (``pull: all``). Parents of the other gates are only
        named."""
        job = self._planned[name]
        if self._ages:
            job = self._planned[name] = self._ages.told(job, gates)
        chosen = gates if self._terms_of(name.app).policy.pull == "all" else self._choose(job, gates)
        for gate in gates:
            for need in gate.needs:
                if gate in chosen and self._is_to_visit(need.parent):
                    self._frontier[need.parent] = None
                elif need.parent not in self._planned:
                    self._add(need.parent, EntryState.EXPECTED)
        if job.stale:
            self._refresh(job, chosen)
        if self._runs_again(name):
            self._revive_readers(gates)
        if self._ages and (self._runs_again(name) or name in self._taken_along):
            self._take_along(gates, self._ages)

    def _refresh_outdated(self, name: JobName) -> bool:
        """Request another run of the job if a partition that it reads has changed since it succeeded."""
        if name in self._outdated:
            self._stale[name] = self._outdated[name]
        return name in self._outdated

    def _is_to_visit(self, parent: JobName) -> bool:
        return self._states[parent] not in _OVER or parent in self._outdated

    def _refresh(self, job: PlannedJob, gates: tuple[Gate, ...]) -> None:
        """Request another run of the stale parents of these gates."""
        for need in chain.from_iterable(gate.needs for gate in gates):
            if job.discounts(need) and not self._runs_again(need.parent):
                self._stale[need.parent] = job.stale[need.parent]
                self._planned.pop(need.parent, None)
                self._frontier[need.parent] = None

    def _revive_readers(self, gates: tuple[Gate, ...]) -> None:
        """Visit the dead parents of a job that runs again, if they or their parents read tables. They run again too,
        and their partitions must be planned, because the steps that they needed may have lost theirs."""
        for need in chain.from_iterable(gate.needs for gate in gates):
            if self._is_dead_for(need) and self._catalogue.may_need_tables(need.parent.app):
                self._revived[need.parent] = None
                self._planned.pop(need.parent, None)
                self._frontier[need.parent] = None

    def _is_dead_for(self, need: Need) -> bool:
        state = self._states[need.parent]
        return state in _OVER and state in DEAD and state in DEAD_FOR[need.when]

    def _take_along(self, gates: tuple[Gate, ...], ages: Ages) -> None:
        """Visit the dead parents of a job that runs again. They run again too, so their inputs may also be too old."""
        for need in chain.from_iterable(gate.needs for gate in gates):
            is_new = need.parent not in self._taken_along
            if is_new and self._is_dead_for(need) and ages.matter(need.parent.app):
                self._taken_along.add(need.parent)
                self._frontier[need.parent] = None

    def _choose(self, job: PlannedJob, gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
        """Return the first gate that is met or under way, else the first that can still be met, else the first.

        A waiting job has a gate that can be met, even if the present states of its parents do not show it: a parent may
        have been in the needed state when the need was settled, and have changed since. The states do not show which
        gate that is, so all gates are returned.
        """
        for gate in gates:
            if all(map(self._is_coming, gate.needs)) and not (job.stale and self._lacks(job, gate)):
                return (gate,)
        for gate in gates:
            if all(map(self._is_possible, gate.needs)):
                return (gate,)
        return gates if self._states[job.name] is State.WAITING else gates[:1]

    def _lacks(self, job: PlannedJob, gate: Gate) -> bool:
        """Return whether the gate has a stale parent for which no rerun has been requested yet."""
        return any(job.discounts(need) and not self._runs_again(need.parent) for need in gate.needs)

    def _is_coming(self, need: Need) -> bool:
        state = self._states[need.parent]
        return state in MET[need.when] or state in _UNDER_WAY

    def _is_possible(self, need: Need) -> bool:
        state = self._states[need.parent]
        return state not in _OVER or state in MET[need.when]

    def _refuse_circles(self) -> None:
        """Refuse jobs that would wait for themselves. Two-way functions and added needs can cause that; the other
        dependencies in definitions cannot."""
        parents = {name: [*_parents(job.gates)] for name, job in self._planned.items() if job.gates}
        for path in cycles(parents):
            raise BadRequest(
                f"A job would wait for itself: {' -> '.join(map(str, path))}.",
                where=self.submission.app,
                advice="Fix the two-way function or the job.expand() that leads back.",
            )

    def _add(
        self,
        name: JobName,
        standing: EntryState,
        gates: tuple[Gate, ...] = (),
        *,
        digest: str | None = None,
    ) -> None:
        overrides, policy = self._terms_of(name.app)
        app = self._catalogue.app(name.app)
        self._planned[name] = PlannedJob(
            name=name,
            standing=standing,
            gates=gates,
            digest=digest,
            policy=policy,
            offset_s=policy.start_offset_s(name, str(self.number)),
            overrides=overrides,
            kwargs=self.submission.kwargs,
            pool=pool_of(app, policy, name.key, self.submission.kwargs),
            rate=rate_of(app, name.key, self.submission.kwargs),
        )

    def _terms_of(self, app: str) -> JobTerms:
        if app not in self._terms:
            self._terms[app] = terms_of(self._catalogue.app(app), self.submission.policy)
        return self._terms[app]


def _require_possible(app: App, name: JobName, state: State | None) -> None:
    if app.chunking and state is None:
        raise no_such_chunk(name)
    if state is State.SPLIT:
        raise was_split(name)


def with_added(gates: tuple[Gate, ...], added: tuple[Need, ...]) -> tuple[Gate, ...]:
    """Return the gates of a definition, each with the added needs too."""
    if not added:
        return gates
    if not gates:
        return (Gate("", added),)
    return tuple(Gate(gate.name, _together(gate.needs, added)) for gate in gates)


def _together(defined: tuple[Need, ...], added: tuple[Need, ...]) -> tuple[Need, ...]:
    """Return the needs in canonical order. A parent that the definition names too keeps its condition."""
    parents = {need.parent: need for need in added}
    kept = [replace(need, added=True) if need.parent in parents else need for need in defined]
    rest = parents.keys() - {need.parent for need in defined}
    return tuple(sorted([*kept, *(parents[name] for name in rest)], key=lambda need: need.parent))


def _parents(gates: tuple[Gate, ...]) -> Iterable[JobName]:
    return (need.parent for gate in gates for need in gate.needs)


def _require_match(keyspace: Keyspace, app: App, key: str) -> None:
    if keyspace.unmatched(app, key):
        raise BadKey(
            f"{app.name}/{key} fits none of the app's dependency groups, so it would run without its parents.",
            where=app.origin,
            advice="Check the key for a typing error, or add a group for it.",
        )
