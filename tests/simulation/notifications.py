"""Random rules of notification, receivers that fail, and checks of the received events.

The notifiers are real, but their attempts take virtual time. A receiver refuses, hangs until the time limit, or is down
for a while. Or the process of the notifier freezes until after the lease of the delivery. Each event that the ledger
records must reach each receiver that a rule names for it, at least once and under one id.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from typing import Any, NamedTuple
from uuid import UUID

from msgspec import Struct, field

from sluice.actors.notifier.notifier import Notifier
from sluice.actors.notifier.senders import CommandSender, Sender
from sluice.actors.settings.settings import NotifySettings
from sluice.broker.messages import Message
from sluice.jobs.model.names import JobName
from sluice.jobs.notifications.rules import EVENT_OF_STATE, TROUBLE, JobEvent
from sluice.jobs.notifications.webhook import TIMEOUT_S
from sluice.jobs.policy.sandbox_settings import Fence
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.jobs.states import REQUEST, RERUN, TERMINAL, State, sql_list
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.notifications import dead_letters
from sluice.ledger.notifications.deliveries import ATTEMPTS_MAX, GIVE_UP_S, LEASE_S, DueDelivery
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.mortal_ledger import CrashingLedger, SimulatedDeath
from tests.world import catalogue_of

#: App that gets the events of submissions, one job for each.
TOLD = "told"
PERIOD_S = 1.0
NOTIFIERS = 2
#: Seconds after which the groomer has marked a job as late in a world without faults, and the time from which there
#: are no faults.
MARKED_S, HEALTHY_S = 10.0, 70.0
#: Attempts of all deliveries of a world at rest, at most.
ATTEMPTS_LEFT_MAX = 20_000

_NEW_EVENTS = """
SELECT notification.number, notification.id, job, app, key, notification.event, notification.state, notification.round,
       at
FROM notification JOIN job ON job.id = notification.job WHERE notification.number > %(since)s ORDER BY 1
"""
_NEW_TRANSITIONS = f"""
SELECT transition.id, job, app, key, verb, target, at FROM transition JOIN job ON job.id = transition.job
WHERE transition.id > %(since)s
  AND (target IN ({sql_list(*sorted(TERMINAL))}) OR verb IN ({sql_list(REQUEST.name, RERUN.name)}))
ORDER BY transition.id
"""
_RULES_OF_SUBMISSIONS = """
SELECT submission.notify FROM submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission_job.job = %(job)s AND submission.notify IS NOT NULL AND submission.planned_at <= %(at)s
  AND coalesce(submission.ended_at >= %(at)s, true)
"""
_NEXT = """
SELECT CASE WHEN EXISTS (SELECT FROM notification WHERE NOT routed) THEN %(now)s ELSE (
    SELECT min(greatest(next_at, retry_at)) FROM delivery JOIN receiver ON receiver.number = delivery.receiver
    WHERE next_at IS NOT NULL) END
"""
_DEAD = """
SELECT notification.id, attempts, extract(epoch FROM dead_at - at)::float8
FROM delivery JOIN notification ON notification.number = delivery.notification WHERE dead_at IS NOT NULL
"""
_DELIVERED = """
SELECT target ->> 'webhook', notification.id FROM delivery JOIN receiver ON receiver.number = delivery.receiver
JOIN notification ON notification.number = delivery.notification
WHERE delivered_at IS NOT NULL AND target ? 'webhook'
"""
_ROW = "SELECT attempts, next_at, delivered_at, dead_at, error FROM delivery WHERE number = %(number)s"
_SUBMITTED = "SELECT id FROM submission WHERE app = %(app)s"


class SentEvent(NamedTuple):
    """Event as a receiver gets it."""

    app: str
    key: str
    event: str
    state: str
    round: int


class KnownEvent(Struct):
    """Event that the ledger has recorded. ``receivers`` are the receivers that must get it."""

    sent: SentEvent
    receivers: set[str]


class JobLife(Struct):
    """Time of a job since it was requested, and the events from which it has not recovered."""

    since: datetime | None = None
    is_late: bool = False
    troubles: set[str] = field(default_factory=set)


class PlannedAttempt(Struct, frozen=True):
    """Course of one attempt: its duration, and whether the receiver accepts the event and its answer arrives."""

    takes_s: float
    accepts: bool
    error: str | None


class DrawnReceiver:
    """Webhook with a drawn character. It is down in ``downtime``, or until it is repaired."""

    def __init__(self, rng: random.Random) -> None:
        self.fails, self.hangs, self.freezes = rng.choice(
            ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.2, 0.3, 0.0), (0.1, 0.1, 0.3), (0.0, 0.3, 0.7))
        )
        begins_s = rng.random() * 60
        self.downtime = (begins_s, begins_s + rng.choice((0.0, 20.0, 200.0)))
        self.is_broken = rng.random() < 0.1

    def attempt(self, rng: random.Random, elapsed_s: float) -> PlannedAttempt:
        if self.is_broken or self.downtime[0] <= elapsed_s < self.downtime[1]:
            return PlannedAttempt(0.1, accepts=False, error="it is down")
        drawn = rng.random()
        if drawn < self.fails:
            return PlannedAttempt(rng.random(), accepts=False, error="it answers 500")
        if drawn < self.fails + self.hangs:
            return PlannedAttempt(TIMEOUT_S, accepts=rng.random() < 0.5, error="no answer in time")
        if drawn < self.fails + self.hangs + self.freezes:
            error = rng.choice((None, "no answer in time"))
            return PlannedAttempt(LEASE_S * (0.9 + rng.random() / 2), accepts=True, error=error)
        return PlannedAttempt(rng.random() * 2, accepts=True, error=None)

    def repair(self) -> None:
        self.fails = self.hangs = self.freezes = 0.0
        self.downtime, self.is_broken = (0.0, 0.0), False


def with_drawn_rules(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps, most of them with rules and some with a time that they have, and the app ``TOLD``."""
    return {name: app | _drawn_rules(rng) for name, app in apps.items()} | {
        TOLD: {"job_id": "{event}", "bash_cmd": "true", "max_losses": 50}
    }


def with_drawn_notify(rng: random.Random, apps: Mapping[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a submission, some with a rule of its own if ``TOLD`` exists."""
    if TOLD not in apps or words.get("app") == TOLD or rng.random() < 0.6:
        return words
    return words | {"notify": [{"on": _drawn_events(rng), "app": TOLD}]}


def _drawn_rules(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.2:
        return {}
    hosts = rng.sample("abc", rng.randint(1, 2))
    rules = [{"on": _drawn_events(rng), "webhook": f"https://{host}.example.org/"} for host in hosts]
    return {"notify": rules, "due_within": rng.choice(("2s", "10s", "1h"))}


def _drawn_events(rng: random.Random) -> list[str]:
    events = rng.sample([str(event) for event in JobEvent], rng.randint(1, 4))
    return events if JobEvent.RECOVERED not in events else sorted({*events, JobEvent.FAILED})


def _row(number: int, tx: Tx) -> list[Any]:
    return tx.rows(_ROW, number=number)


class _Attempts(Executor):
    """Attempts of one notifier, which take virtual time. It takes the place of the threads."""

    def __init__(self, begin: Callable[["_Attempts", DueDelivery, Callable[[], None]], None]) -> None:
        self.is_alive = True
        self._begin = begin

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        self._begin(self, args[0], partial(fn, *args))
        return Future()


class _DrawnSender(Sender):
    """Sender whose answers were drawn when the attempts began."""

    def __init__(self) -> None:
        commands = CommandSender(lambda: catalogue_of({}), Sandbox(Fence()))
        super().__init__(NotifySettings(), commands, Event())
        self.answers: dict[UUID, dict[int, str | None]] = {}

    def send(self, delivery: DueDelivery) -> str | None:
        return self.answers[delivery.event_id][delivery.number]


class Mail:
    """Notifiers and receivers of one world. ``wrong`` collects violations."""

    def __init__(
        self,
        fate: FaultSource,
        agenda: Agenda,
        ledger: CrashingLedger,
        plain: Ledger,
        publish: Callable[[Iterable[Message]], None],
    ) -> None:
        self.wrong: list[str] = []
        self._fate = fate
        self._agenda = agenda
        self._ledger = ledger
        self._plain = plain
        self._publish = publish
        self._rules: dict[str, list[tuple[set[str], str]]] = {}
        self._due_s: dict[str, float] = {}
        self._receivers: dict[str, DrawnReceiver] = {}
        self._sender = _DrawnSender()
        self._notifiers: dict[int, tuple[Notifier, _Attempts]] = {}
        self._underway: dict[int, datetime] = {}
        self._accepted: set[tuple[str, UUID]] = set()
        self._known: dict[UUID, KnownEvent] = {}
        self._lives: dict[int, JobLife] = {}
        self._event = self._transition = 0
        self._is_settling = False

    @property
    def is_idle(self) -> bool:
        return not self._rules

    @property
    def is_quiet(self) -> bool:
        """True if no attempt is in progress. The attempts of processes that have died do not count."""
        longest = timedelta(seconds=2 * LEASE_S)
        return all(began + longest < self._agenda.now for began in self._underway.values())

    def begin(self, apps: Mapping[str, Any]) -> None:
        """Start the notifiers, if the apps have rules."""
        if TOLD not in apps:
            return
        for name, app in apps.items():
            self._rules[name] = [({*rule["on"]}, rule["webhook"]) for rule in app.get("notify", ())]
            if "due_within" in app:
                self._due_s[name] = {"2s": 2.0, "10s": 10.0, "1h": 3600.0}[app["due_within"]]
        urls = sorted({url for rules in self._rules.values() for _, url in rules})
        self._receivers = {url: DrawnReceiver(self._fate.rng(url)) for url in urls}
        for name in range(NOTIFIERS):
            self._hire(name)
            self._agenda.after(PERIOD_S, partial(self._step, name), about=f"notifier {name}")

    def look(self, tx: Tx) -> list[str]:
        """Read new events and transitions, and return the violations since the last call."""
        transitions = tx.rows(_NEW_TRANSITIONS, since=self._transition)
        events = tx.rows(_NEW_EVENTS, since=self._event)
        if transitions:
            self._transition = transitions[-1][0]
        if events:
            self._event = events[-1][0]
        entered = [(job, event, state, at) for _, _, job, _, _, event, state, _, at in events]
        for _, id_, job, app, key, event, state, round_, at in events:
            self._note(tx, id_, job, SentEvent(app, key, event, state, round_), at)
        ended = {(job, target, at) for _, job, _, _, _, target, at in transitions}
        self.wrong += [
            f"the event {event} of job {job} has no cause"
            for job, event, state, at in entered
            if event != JobEvent.LATE and (job, state, at) not in ended
        ]
        self.wrong += [f"{each} was entered twice" for each in entered if entered.count(each) > 1]
        for _, job, app, key, _, target, at in transitions:
            sent = {event for on, _ in self._rules_of(tx, job, app, at) for event in on}
            entered_now = {each[1] for each in entered if each[0] == job}
            self._follow(job, JobName(app, key), State(target), at, sent=sent, entered=entered_now)
        wrong, self.wrong = self.wrong, []
        return wrong

    def settle(self) -> None:
        """Have all deliveries attempted until each is delivered or given up. Then repair all receivers, and send the
        dead letters again."""
        if self.is_idle:
            return
        self._is_settling = True
        # Attempts in progress are left: their process has died.
        self._hire(0)
        self._deliver_all()
        dead = self._plain.transact(lambda tx: tx.rows(_DEAD))
        self.wrong += [
            f"the event {id_} was given up after {attempts} attempts and {age_s:.0f} s"
            for id_, attempts, age_s in dead
            if attempts < ATTEMPTS_MAX and age_s < GIVE_UP_S
        ]
        for receiver in self._receivers.values():
            receiver.repair()
        sent = self._plain.transact(lambda tx: dead_letters.send_again(tx, None))
        if sent != len(dead):
            self.wrong.append(f"of {len(dead)} dead letters {sent} were sent again")
        self._deliver_all()

    def left(self, tx: Tx) -> list[str]:
        """Return the violations of a world in which everything is delivered."""
        if self.is_idle:
            return []
        submitted = set(tx.column(_SUBMITTED, app=TOLD))
        dead = tx.rows(_DEAD)
        return [
            *self.wrong,
            *(f"the event {id_} is dead though its receiver works" for id_, _, _ in dead),
            *(
                f"the event {id_} counts as delivered to {url}, which never accepted it"
                for url, id_ in tx.rows(_DELIVERED)
                if (url, id_) not in self._accepted
            ),
            *(
                f"{receiver} never got {known.sent}"
                for id_, known in self._known.items()
                for receiver in sorted(known.receivers)
                if (str(id_) not in submitted if receiver == TOLD else (receiver, id_) not in self._accepted)
            ),
        ]

    def _note(self, tx: Tx, id_: UUID, job: int, sent: SentEvent, at: datetime) -> None:
        """Note an event, and the receivers that must get it."""
        life = self._lives.setdefault(job, JobLife())
        receivers = {
            target
            for on, target in self._rules_of(tx, job, sent.app, at)
            if sent.event in on and (sent.event != JobEvent.RECOVERED or on & life.troubles)
        }
        self._known[id_] = KnownEvent(sent, receivers)
        if sent.event == JobEvent.LATE:
            if life.is_late or State(sent.state) in TERMINAL or sent.app not in self._due_s:
                self.wrong.append(f"{sent} is no lateness")
            life.is_late = True
        if sent.event in TROUBLE:
            life.troubles.add(sent.event)

    def _rules_of(self, tx: Tx, job: int, app: str, at: datetime) -> list[tuple[set[str], str]]:
        """Return the rules for a job at this time: those of its app, and of the submissions that request it."""
        of_submissions = tx.column(_RULES_OF_SUBMISSIONS, job=job, at=at)
        return self._rules[app] + [({*rule["on"]}, TOLD) for notify in of_submissions for rule in notify]

    def _follow(
        self, job: int, name: JobName, target: State, at: datetime, *, sent: set[str], entered: set[str]
    ) -> None:
        """Follow a transition, and note the events that are missing. ``sent`` are the events that rules send."""
        life = self._lives.setdefault(job, JobLife())
        if target not in TERMINAL:
            life.since, life.is_late = at, False
            return
        due_s, healthy = self._due_s.get(name.app), self._agenda.start + timedelta(seconds=HEALTHY_S)
        if due_s and life.since and JobEvent.LATE in sent and not life.is_late:
            due = max(life.since + timedelta(seconds=due_s), healthy) + timedelta(seconds=MARKED_S)
            if at > due:
                self.wrong.append(f"{name} ended at {at} and was due at {due}, and was never late")
        expected = {str(EVENT_OF_STATE.get(target))} & sent
        if target is State.SUCCEEDED:
            expected |= {JobEvent.RECOVERED} & sent if life.troubles else set()
            life.troubles = set()
        if missing := sorted(expected - entered):
            self.wrong.append(f"{name} is {target}, and has no event {missing}")

    def _hire(self, name: int) -> None:
        attempts = _Attempts(self._begin_attempt)
        notifier = Notifier(
            self._ledger, self._sender, self._publish, Event(), period_s=PERIOD_S, pool=attempts
        )
        self._notifiers[name] = notifier, attempts

    def _step(self, name: int) -> None:
        self._agenda.after(PERIOD_S, partial(self._step, name), about=f"notifier {name}")
        notifier, attempts = self._notifiers[name]
        try:
            with self._ledger.by(f"notifier {name}"):
                notifier.step()
        except SimulatedDeath:
            attempts.is_alive = False
            self._hire(name)
            raise

    def _begin_attempt(self, process: _Attempts, delivery: DueDelivery, end: Callable[[], None]) -> None:
        """Begin an attempt, of which ``end`` records the result."""
        name = f"attempt {delivery.attempts} of {delivery.app}/{delivery.key} {delivery.event} at {delivery.receiver}"
        rng = self._fate.rng(name)
        earlier = self._underway.get(delivery.number)
        if earlier and self._agenda.now < earlier + timedelta(seconds=LEASE_S):
            self.wrong.append(f"{name} begins while another process attempts it")
        self._underway[delivery.number] = began = self._agenda.now
        planned = self._course(rng, delivery)
        answers = self._sender.answers.setdefault(delivery.event_id, {})

        def answer() -> None:
            if not process.is_alive:
                return
            answers[delivery.number] = planned.error
            is_overtaken = self._underway.get(delivery.number) != began
            before = self._plain.transact(partial(_row, delivery.number)) if is_overtaken else []
            with self._ledger.by(name):
                end()
            if not is_overtaken:
                del self._underway[delivery.number]
            elif before != self._plain.transact(partial(_row, delivery.number)):
                self.wrong.append(f"the result of {name}, which had lost its lease, changes the delivery")

        if planned.accepts:
            self._after(planned.takes_s / 2, partial(self._accept, delivery), name)
        self._after(planned.takes_s, answer, name)

    def _course(self, rng: random.Random, delivery: DueDelivery) -> PlannedAttempt:
        if delivery.target.webhook is None:
            return PlannedAttempt(0.0, accepts=False, error=None)
        return self._receivers[delivery.target.webhook].attempt(rng, self._agenda.elapsed_s)

    def _after(self, delay_s: float, event: Callable[[], None], about: str) -> None:
        if self._is_settling:
            event()
        else:
            self._agenda.after(delay_s, event, about=about)

    def _accept(self, delivery: DueDelivery) -> None:
        """Accept an event as a receiver."""
        url = delivery.target.webhook or ""
        sent = SentEvent(delivery.app, delivery.key, delivery.event, delivery.state, delivery.round)
        known = self._known.get(delivery.event_id)
        if known is None or known.sent != sent:
            self.wrong.append(f"{url} got {sent}, which did not happen: {known}")
        elif url not in known.receivers:
            self.wrong.append(f"{url} got {sent}, and no rule sends it there")
        self._accepted.add((url, delivery.event_id))

    def _deliver_all(self) -> None:
        """Attempt all deliveries at the times at which they are due."""
        for _ in range(ATTEMPTS_LEFT_MAX):
            at = self._plain.transact(self._next_at)
            if at is None:
                return
            self._agenda.skip_to(max(at, self._agenda.now))
            self._notifiers[0][0].step()
        self.wrong.append("the deliveries do not end")

    def _next_at(self, tx: Tx) -> datetime | None:
        at: datetime | None = tx.column(_NEXT, now=self._agenda.now)[0]
        return at
