"""Loop that observes, decides, and starts or stops workers for each set of queues."""

import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event

from msgspec import Struct

from sluice.jobs.errors import SluiceError
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.reads import fleet
from sluice.ops.autoscale.decision import Memory, Observation, ScalingSettings, decide
from sluice.ops.autoscale.targets import ScalingTarget
from sluice.ops.autoscale.workers import ExitedWorker, LocalWorkers
from sluice.ops.cli.local_worker import StopEvent
from sluice.ops.documents.backlog import wanted

#: Seconds between two checks whether the stopping workers have exited.
_GONE_LOOK_S = 0.2

#: Callback that shows a line to the user.
Say = Callable[[str], None]


class LedgerObservation(Struct, frozen=True):
    """Observation of the ledger. ``demand`` is the number of jobs that could run at once, by watch, or None if the
    ledger does not answer. ``held`` is the number of jobs of each process of this machine, by process ID.
    """

    demand: Mapping[str, int | None]
    held: Mapping[int, int]


class ScaledTarget(Struct):
    """Watch with its workers and memory. ``lack`` is the error of the last start if not all workers could be
    started.
    """

    watch: ScalingTarget
    terms: ScalingSettings
    crew: LocalWorkers
    memory: Memory = Memory()
    lack: str = ""


class Autoscaler:
    """Loop of the autoscaler. A refused query or a worker that cannot be started does not end it. Each problem is
    reported once, and the next step tries again.
    """

    def __init__(self, ledger: Ledger, posts: Sequence[ScaledTarget], say: Say) -> None:
        self._ledger = ledger
        self._posts = posts
        self._say = say
        self._answers = True

    def keep(self, stop: StopEvent, every_s: float) -> None:
        """Repeat the step until the stop event is set. However the loop ends, even by an unexpected error, all workers
        are asked to stop and are waited for. They are killed if the user interrupts again.
        """
        try:
            while not stop.is_set():
                self.step()
                stop.wait(every_s)
        except KeyboardInterrupt:
            self._kill()
            raise
        finally:
            self._dismiss()

    def step(self) -> None:
        """Observe once and carry out the decision for each watch."""
        look = self._look()
        for post in self._posts:
            gone = post.crew.look()
            self._tell_of(post, gone)
            seen = Observation(
                at_s=time.monotonic(),
                demand=look.demand[post.watch.name],
                working=post.crew.working,
                leaving=post.crew.leaving,
                lived_s=tuple(each.lived_s for each in gone if not each.asked),
            )
            decision = decide(post.terms, post.memory, seen)
            post.memory = decision.memory
            self._carry_out(post, decision.start, decision.send_away, look)

    def _dismiss(self) -> None:
        """Ask all workers to stop, and wait until they have exited."""
        never = Event()
        try:
            for post in self._posts:
                post.crew.send_all_away()
            if self._some_are_there():
                self._say("All workers are stopping, within their grace time. Interrupt again to kill them.")
            while self._some_are_there():
                never.wait(_GONE_LOOK_S)
        except KeyboardInterrupt:
            self._kill()
            raise

    def _kill(self) -> None:
        for post in self._posts:
            post.crew.kill()

    def _some_are_there(self) -> bool:
        for post in self._posts:
            self._tell_of(post, post.crew.look())
        return any(post.crew.leaving or post.crew.working for post in self._posts)

    def _look(self) -> LedgerObservation:
        names = [post.watch.name for post in self._posts]
        try:
            found = self._ledger.transact(self._read)
        except SluiceError as error:
            if self._answers:
                self._say(f"No worker is stopped until the demand is known again. {error.what}")
            self._answers = False
            return LedgerObservation(dict.fromkeys(names), {})
        if not self._answers:
            self._say("The ledger answers again.")
        self._answers = True
        return found

    def _read(self, tx: Tx) -> LedgerObservation:
        apps = sorted({app for post in self._posts for app in post.watch.apps})
        demand = {each.app: each.demand for each in wanted(tx, apps).apps} if apps else {}
        here = socket.gethostname()
        return LedgerObservation(
            {post.watch.name: sum(demand[app] for app in post.watch.apps) for post in self._posts},
            {worker.pid: worker.running for worker in fleet.workers(tx) if worker.host == here},
        )

    def _carry_out(self, post: ScaledTarget, start: int, send_away: int, look: LedgerObservation) -> None:
        demand = look.demand[post.watch.name]
        why = "" if demand is None else f", because the demand is {demand}"
        if start:
            self._start(post, start, why)
        if send_away:
            pids = _listed(post.crew.send_away(send_away, look.held))
            self._say(f"{post.watch.name}: stopping {pids}{why}; {post.crew.working} stay.")

    def _start(self, post: ScaledTarget, number: int, why: str) -> None:
        """Start as many workers as possible now. The next step tries again to start the rest."""
        pids: list[int] = []
        lack = ""
        try:
            for _ in range(number):
                pids += post.crew.start(1)
        except OSError as error:
            lack = str(error)
        if pids:
            self._say(f"{post.watch.name}: started {_listed(pids)}{why}; {post.crew.working} are running.")
        if lack and lack != post.lack:
            self._say(f"{post.watch.name}: no more workers can be started; each check tries again. {lack}")
        post.lack = lack

    def _tell_of(self, post: ScaledTarget, gone: Sequence[ExitedWorker]) -> None:
        for each in gone:
            how = "has stopped" if each.asked else f"ended by itself after {each.lived_s:.0f} s"
            self._say(f"{post.watch.name}: {each.pid} {how}, with exit code {each.code}.")


def command(watch: ScalingTarget, *, threads: int, processes: int) -> list[str]:
    """Return the command that starts a worker. Secrets are passed in its environment."""
    words = ["--queues", watch.name, "--threads", str(threads), "--processes", str(processes)]
    return [sys.executable, "-P", "-m", "sluice.actors.worker", *words]


def _listed(pids: Sequence[int]) -> str:
    return ", ".join(map(str, pids))
