"""One simulated world: definitions, an installation, and users that send messages."""

import random
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from sluice.actors.client import Client
from sluice.actors.planner.landed_partitions import stale_partitions
from sluice.broker.messages import Landed, Message, Resume, Tick
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.names import JobName
from sluice.ledger.database.connection import Tx
from sluice.ledger.retention import removal
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.installation import SimulatedInstallation
from tests.simulation import days, removals
from tests.simulation.air import Air
from tests.simulation.definitions import changed_apps, drawn_wish
from tests.simulation.environment import Ground
from tests.simulation.expansions import NESTED, WISHES
from tests.simulation.job_outcomes import Labour, habits
from tests.simulation.notifications import Mail
from tests.simulation.partitions import Watch, all_days, all_landed
from tests.simulation.pauses import drawn_pauses
from tests.simulation.readers import CHILD, READER
from tests.simulation.removals import Removals, RemovedJob
from tests.simulation.retries import Retrier, drawn_times
from tests.simulation.sagas import LOOK_S, Operator
from tests.simulation.trips import Trips
from tests.world import catalogue_of

#: Seconds after which users send no more messages and no more faults happen. The remaining work then has to end.
FAULTY_S = 60.0
#: Seconds after which a healed world should be at rest. If it is not, it never will be.
PATIENCE_S = 4000.0
#: Seconds without a move of any job, after which a healed world will never be at rest. Notifications and retries are
#: never repeated later than that.
STILL_S = 1500.0
#: Seconds after which everything that was paused is resumed. No pause message is under way any more.
RESUMED_S = FAULTY_S + 30.0
#: Seconds after which the groomer has handled everything that was left over before.
CALM_S = RESUMED_S + 10.0
TICK_S = 1.0
#: Requests after everything has ended, in worlds with jobs that read tables.
LAST_REQUESTS = 4
#: Seconds between two removals of old history, and the age of removed history, in a third of the worlds. Worlds with
#: sagas and with notifications are excepted, because the checks read their history.
PRUNED_EVERY_S = 3.0
PRUNED_AT_ONCE = 5


class World:
    """One world. ``step`` processes one event.

    Messages of users are drawn from ``rng`` before the world begins, everything else is drawn by ``fate``. If the world
    ``removes``, jobs that ended some seconds ago are removed.
    """

    def __init__(
        self,
        ground: Ground,
        rng: random.Random,
        apps: dict[str, Any],
        catalogue: Catalogue,
        fate: FaultSource,
        *,
        removes: bool = False,
    ) -> None:
        self.agenda = agenda = Agenda(fate)
        fate.elapsed_s = lambda: agenda.elapsed_s
        ground.begin(fate, agenda.clock)
        self.plain, self._ledger = ground.plain, ground.ledger
        self._fate = fate
        self._rng = rng
        self._apps = apps
        self.catalogues = [catalogue]
        #: Apps of which each job with a key depends on others, by every definition.
        self.dependent = {
            name for name, words in apps.items() if "job_id" in words and words.get("depends_on")
        }
        self.watch = Watch(catalogue, apps)
        self.trips = Trips(apps)
        self.air = Air(fate, agenda, self.plain, self._send_news)
        self.mail = Mail(fate, agenda, self._ledger, self.plain, self._publish)
        self.labour = Labour(fate)
        self.removals: Removals | None = None
        if removes:
            self.removals = Removals(fate, agenda, ground, removed=self._forget, step=self._step_within)
        self.installation = SimulatedInstallation(
            self._ledger,
            fate,
            agenda,
            catalogue,
            work=self.labour,
            sky=self.air,
            habits=habits(),
            heard=self._hears,
        )
        client = Client(self._ledger, self.installation.send)
        self._operator = Operator(fate.rng("operator"), self.plain, client, self._send_news)
        self._submitted: list[str] = []
        self._retrier = Retrier(partial(fate.rng, "a retry"), self.plain, client, self._submitted)
        self._client = client
        #: Check of the world between two events of one step.
        self.observe: Callable[[], None] = lambda: None
        self._acts = 0
        self._requested_again = 0
        self._wishes = rng.randint(*(removals.WISHES if removes else _wishes(apps)))
        self._begin()

    def step(self) -> None:
        """Process the next event."""
        self.installation.step()

    def _step_within(self) -> None:
        """Process the next event within the present one, and check the world after it."""
        self.installation.step()
        self.observe()

    def request_again(self) -> bool:
        """Request jobs that read tables, and everything that is stale, in turn. Every job succeeds from now on. Return
        False after the last request."""
        readers = self.watch.readers
        if readers.is_idle or self._requested_again == LAST_REQUESTS:
            return False
        self._requested_again += 1
        self.labour.succeeds = True
        # The first two requests may make missing inputs, which are new contents for what was made without them.
        if self._requested_again == 1:
            request = all_days(READER)
            if CHILD in self._apps:
                request = replace(request, app=CHILD, rerun="job")
            self._client.submit(replace(request, id="first of all"))
        elif self._requested_again == LAST_REQUESTS:
            readers.last_request = "all"
            self._client.submit(replace(all_days(READER), id="last of all"))
        else:
            readers.last_request = "stale" if self._requested_again == LAST_REQUESTS - 1 else None
            self._restate()
        return True

    def unplanned(self, tx: Tx) -> list[str]:
        """Return the violations among the jobs that jobs add. An edited ``join`` has no needs that are known here."""
        is_edited = len(self.catalogues) > 1
        return self.labour.expansions.wrong(
            tx, {} if is_edited else self._apps.get("join", {}), was_removed=self.was_removed
        )

    def was_removed(self, name: JobName, since: datetime) -> bool:
        """Return whether the job was removed then or later."""
        return self.removals is not None and self.removals.was_removed(name, since)

    @property
    def steps(self) -> int:
        return self.installation.steps

    def has_written(self) -> bool:
        """Return whether anything was written since the last call."""
        has, self._ledger.has_written = self._ledger.has_written, False
        return has

    @property
    def elapsed_s(self) -> float:
        return self.agenda.elapsed_s

    def close(self) -> None:
        self.installation.close()

    def _begin(self) -> None:
        for name in range(self._rng.randint(1, 3)):
            self.installation.hire(name)
        for number in range(self._wishes):
            wish = drawn_wish(self._rng, self._apps, number, self._submitted)
            if isinstance(wish, Landed):
                self.watch.hear(wish)
            at_s = self._rng.random() * FAULTY_S * 0.7
            self._say_at(at_s, wish)
            if self.removals:
                self._say_again(at_s, wish)
        for at_s, message in drawn_pauses(self._rng, self._submitted, FAULTY_S):
            self._say_at(at_s, message)
        self._plan_repairs()
        self.mail.begin(self._apps)
        self._at(RESUMED_S, self._resume)
        self._at(TICK_S, self._tick)
        catalogue = self.catalogues[0]
        if self.removals:
            self._at(removals.PERIOD_S, self._remove)
        elif (
            self._wishes % 3 == 0
            and self.mail.is_idle
            and not any(app.saga or app.compensate for app in catalogue.values())
        ):
            self._at(PRUNED_EVERY_S, self._prune)
        self._at(FAULTY_S, self._fate.heal)
        if self._rng.random() < 0.3:
            self._at(self._rng.random() * FAULTY_S, self._edit)
        self.installation.plan_faults(FAULTY_S)
        if any(app.saga for app in catalogue.values()):
            self._at(LOOK_S, self._operate)

    def _plan_repairs(self) -> None:
        for at_s in drawn_times(self._fate.rng("retries"), FAULTY_S):
            self._at(at_s, self._retry)
        if self.watch.has_days:
            for at_s in drawn_times(self._fate.rng("restatements"), FAULTY_S):
                self._at(at_s, self._restate)
        if not self.watch.readers.is_idle:
            for at_s in days.drawn_times(self._fate.rng("late retries"), RESUMED_S):
                self._at(at_s, self._retry)
        if days.MAKER in self._apps:
            for at_s in days.drawn_times(self._fate.rng("changes of days"), RESUMED_S):
                self._at(at_s, self._change_days)

    def _at(self, delay_s: float, event: Callable[[], None]) -> None:
        self.agenda.after(delay_s, event, about=event.__name__)

    def _say_at(self, at_s: float, message: Message) -> None:
        self.agenda.after(at_s, partial(self._send_news, message), about="a wish")

    def _say_again(self, at_s: float, message: Message) -> None:
        """Send a message again, mostly after everything that it requested was removed."""
        rng = self._fate.rng("repetitions")
        for _ in range(rng.choice((0, 1, 2))):
            at_s += rng.uniform(0.2, 1.0) * FAULTY_S / 2
            self._say_at(at_s, message)

    def _resume(self) -> None:
        """Resume all paused submissions, and land all partitions that are made outside."""
        landings = all_landed(self.catalogues[-1])
        for landing in landings:
            self.watch.hear(landing)
        resumed = [Resume(submission=id_) for id_ in self._submitted]
        self.installation.send([*resumed, *landings], reliably=True)

    def _edit(self) -> None:
        """Change a definition for all processes at once."""
        changed = changed_apps(self._fate.rng("edit"), self._apps)
        self.dependent -= {name for name, words in changed.items() if words != self._apps[name]}
        self.installation.catalogue = catalogue_of(changed)
        self.catalogues.append(self.installation.catalogue)

    def _operate(self) -> None:
        if self.elapsed_s < RESUMED_S:
            self._at(LOOK_S * self._fate.number("operator"), self._operate)
            self._operator.look()

    def _hears(self, message: Message) -> None:
        if isinstance(message, Resume) and message.app is not None:
            self.air.hears(message)

    def _publish(self, messages: Iterable[Message]) -> None:
        self.installation.send([*messages])

    def _send_news(self, message: Message) -> None:
        self.installation.send([message], reliably=True)

    def _tick(self) -> None:
        self.installation.send([Tick()])
        self._at(TICK_S, self._tick)

    def _retry(self) -> None:
        with self._ledger.by(f"a retry at {self.elapsed_s:.0f} s"):
            self._retrier.act()

    def _restate(self) -> None:
        """Have everything made again that is stale."""
        self._acts += 1
        stale = self.plain.transact(lambda tx: stale_partitions(tx, self.installation.catalogue))
        for each in stale:
            self._client.submit(replace(each, id=f"restated {each.app} {self._acts}"))

    def _change_days(self) -> None:
        """Run some of the jobs again that make days of a table."""
        self._acts += 1
        again = self.plain.transact(partial(days.drawn_change, self._fate.rng("a change of days")))
        if again:
            self._client.submit(replace(again, id=f"changed {self._acts}"))

    def _prune(self) -> None:
        """Remove history that is older than some seconds."""
        self._at(PRUNED_EVERY_S, self._prune)
        with self._ledger.by(f"whoever prunes at {self.elapsed_s:.0f} s"):
            self._ledger.transact(lambda tx: removal.prune(tx, keep_s=PRUNED_EVERY_S, limit=PRUNED_AT_ONCE))

    def _remove(self) -> None:
        """Remove history, jobs and submissions that are older than some seconds."""
        self._at(removals.PERIOD_S, self._remove)
        if self.removals:
            self.removals.act()

    def _forget(self, jobs: Collection[RemovedJob]) -> None:
        self.watch.forget([job for job, _ in jobs])


def _wishes(apps: dict[str, Any]) -> tuple[int, int]:
    """Return the least and the greatest number of messages of users in a world of these apps."""
    if NESTED in apps:
        return WISHES
    return days.WISHES if apps.keys() & {days.MAKER, READER} else (1, 6)
