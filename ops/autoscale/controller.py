"""Loop that observes, decides, and starts or stops workers for each set of queues."""

import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from sluice.jobs.errors import SluiceError, Unreachable
from sluice.jobs.observe.outages import missed
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.reads import fleet
from sluice.ops.autoscale.workers import LocalWorkers
from sluice.ops.cli.local_worker import StopEvent
from sluice.ops.documents.backlog import wanted

#: Seconds between two checks whether the stopping workers have exited.
EXIT_CHECK_S = 0.2


class Autoscaler:
    """Loop of the autoscaler. A refused query or a worker that cannot be started does not end it. Each problem is
    reported once by ``warn``, and the next step tries again. ``say`` reports everything else. Default of ``warn``:
    ``say``.
    """

    def __init__(
        self,
        ledger: Ledger,
        crews: Sequence[LocalWorkers],
        say: Callable[[str], None],
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._ledger = ledger
        self._crews = crews
        self._say = say
        self._warn = warn or say
        self._answers = True

    def keep(self, stop: StopEvent, every_s: float) -> None:
        """Repeat the step until the stop event is set. However the loop ends, even by an unexpected error, all workers
        are asked to stop and are waited for. They are killed if the user interrupts again.
        """
        try:
            try:
                while not stop.is_set():
                    self.step()
                    stop.wait(every_s)
            finally:
                if not isinstance(sys.exception(), KeyboardInterrupt):
                    self._dismiss()
        except KeyboardInterrupt:
            for crew in self._crews:
                crew.kill()
            raise

    def step(self) -> None:
        """Observe once, and carry out the decision for each target."""
        demand, held = self._observe()
        for crew in self._crews:
            lived_s = self._report_exits(crew)
            number = None if demand is None else sum(demand[app] for app in crew.target.apps)
            why = "" if number is None else f", because the demand is {number}"
            change = crew.target.decide(
                time.monotonic(), demand, working=crew.working, leaving=crew.leaving, lived_s=lived_s
            )
            if change > 0:
                self._start(crew, change, why)
            elif change < 0:
                pids = ", ".join(map(str, crew.stop(-change, held)))
                self._say(f"{crew.target.name}: stopping {pids}{why}; {crew.working} stay.")

    def _observe(self) -> tuple[Mapping[str, int] | None, Mapping[int, int]]:
        """Return the number of jobs that could run at once, by app, and the number of running jobs by process ID of
        this machine. The first is None if the ledger does not answer. Its outages are in its own log.
        """
        try:
            found = self._ledger.transact(self._read)
        except Unreachable as error:
            missed(error, "checks of the demand left out, and no worker stopped for it")
            return None, {}
        except SluiceError as error:
            if self._answers:
                self._warn(f"No worker is stopped until the demand is known again. {error.what}")
            self._answers = False
            return None, {}
        if not self._answers:
            self._say("The ledger answers again.")
        self._answers = True
        return found

    def _read(self, tx: Tx) -> tuple[Mapping[str, int], Mapping[int, int]]:
        apps = sorted({app for crew in self._crews for app in crew.target.apps})
        demand = {each.app: each.demand for each in wanted(tx, apps).apps} if apps else {}
        here = socket.gethostname()
        return demand, {worker.pid: worker.running for worker in fleet.workers(tx) if worker.host == here}

    def _start(self, crew: LocalWorkers, number: int, why: str) -> None:
        """Start as many workers as possible now. The next step tries again to start the rest."""
        pids, lack = [], ""
        try:
            for _ in range(number):
                pids.append(str(crew.start()))
        except OSError as error:
            lack = str(error)
        if pids:
            started = ", ".join(pids)
            self._say(f"{crew.target.name}: started {started}{why}; {crew.working} are running.")
        if lack and lack != crew.lack:
            self._warn(f"{crew.target.name}: no more workers can be started; each check tries again. {lack}")
        crew.lack = lack

    def _report_exits(self, crew: LocalWorkers) -> list[float]:
        """Report the workers that have exited. Return the lifetimes of those that were not asked to."""
        exited = crew.take_exited()
        for worker in exited:
            how = "has stopped" if worker.asked else f"ended by itself after {worker.lived_s:.0f} s"
            report = self._say if worker.asked else self._warn
            report(f"{crew.target.name}: {worker.pid} {how}, with exit code {worker.returncode}.")
        return [worker.lived_s for worker in exited if not worker.asked]

    def _dismiss(self) -> None:
        """Ask all workers to stop, and wait until they have exited."""
        for crew in self._crews:
            crew.stop(crew.working, {})
        if self._are_left():
            self._say("All workers are stopping, within their grace time. Interrupt again to kill them.")
        while self._are_left():
            time.sleep(EXIT_CHECK_S)

    def _are_left(self) -> bool:
        for crew in self._crews:
            self._report_exits(crew)
        return any(crew.leaving for crew in self._crews)
