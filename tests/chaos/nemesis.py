"""The nemesis: it performs each act at its time, and reverts the lasting ones.

An act that is impossible at that moment, because its worker is down already, is postponed by a little. The performed
act is in the record, with the sessions of processes that it hit.
"""

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Event, Thread

from sluice.jobs.errors import SluiceError
from tests.broker.proxy import Break
from tests.chaos.acts import Act, Kind
from tests.chaos.database import Database
from tests.chaos.echoes import Echoes
from tests.chaos.fleet import Fleet, Worker
from tests.chaos.record import Record
from tests.chaos.wires import ANYTHING, COMMIT, Wires
from tests.private_servers import PrivateServer

_PUT_OFF_S = 0.3
_DELAYED_S = 1.5
_REVIVED_EVERY_S = 1.0


class Nemesis:
    """Thread that performs the acts.

    ``error`` is the reason if it broke off; such a run proves nothing. ``undone`` contains the kinds of which no act
    was performed yet.
    """

    def __init__(
        self,
        *,
        acts: Sequence[Act],
        record: Record,
        fleet: Fleet,
        wires: Mapping[str, Wires],
        servers: tuple[PrivateServer, Database],
        echoes: Echoes,
        purge: Callable[[], str],
    ) -> None:
        self._record, self._fleet, self._wires = record, fleet, wires
        self._broker, self._database = servers
        self._echoes, self._purge = echoes, purge
        self.error: BaseException | None = None
        self.undone = {act.kind for act in acts}
        self._over = Event()
        self._numbers = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._away: dict[Kind, Thread] = {}
        self._began = time.monotonic()
        for act in acts:
            self._at(self._began + act.at_s, lambda act=act: self._do(act))
        self._revive()
        self._thread = Thread(target=self._live, name="nemesis")

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Heal everything: the servers are up, the wires whole, the clocks right, and the workers run."""
        self._over.set()
        self._thread.join()
        for thread in self._away.values():
            thread.join()
        for wires in self._wires.values():
            wires.heal()
        for worker in self._fleet:
            worker.clock.put(0)
            worker.go_on()
            if worker.ending and not worker.left():
                self._record.did("stuck", worker.name, session=worker.session)
            if worker.ending or not worker.runs:
                worker.kill()
                worker.start()
        self._record.did("heal", "all")

    def _live(self) -> None:
        try:
            while self._due and not self._over.is_set():
                at, _, deed = self._due[0]
                if not self._over.wait(max(0.0, at - time.monotonic())):
                    heapq.heappop(self._due)
                    deed()
        except BaseException as error:
            self.error = error

    def _at(self, at: float, deed: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at, next(self._numbers), deed))

    def _after(self, seconds: float, deed: Callable[[], None]) -> None:
        self._at(time.monotonic() + seconds, deed)

    def _revive(self) -> None:
        for name, code in self._fleet.revive():
            self._record.did("revive", name, exit_code=code)
        self._after(_REVIVED_EVERY_S, self._revive)

    def _do(self, act: Act) -> None:
        if not self._DEEDS[act.kind](self, act):
            self._after(_PUT_OFF_S, lambda: self._do(act))

    def _tell(self, act: Act, **more: object) -> bool:
        self.undone.discard(act.kind)
        self._record.did(act.kind.name, act.whom, **more)
        return True

    def _kill(self, act: Act) -> bool:
        worker = self._fleet[act.whom]
        if not worker.works:
            return False
        session = worker.session
        worker.kill()
        self._after(act.amount, worker.start)
        return self._tell(act, session=session)

    def _kill_first(self, act: Act) -> bool:
        worker = self._fleet[act.whom]
        if not worker.works:
            return False
        worker.kill_first()
        self._after(act.amount, lambda: self._start_again(worker))
        return self._tell(act, session=worker.session)

    def _start_again(self, worker: Worker) -> None:
        """Restart a worker after its first process was killed.

        By now, no process that it had started should be left.
        """
        if worker.kill_survivors():
            self._record.did("survived", worker.name, session=worker.session)
        worker.kill()
        worker.start()

    def _stop(self, act: Act) -> bool:
        worker = self._fleet[act.whom]
        if not worker.works:
            return False
        worker.stop()
        self._after(act.amount, worker.go_on)
        return self._tell(act, session=worker.session, for_s=act.amount)

    def _tell_to_end(self, act: Act) -> bool:
        worker = self._fleet[act.whom]
        if not worker.works:
            return False
        worker.tell_to_end()
        self._after(act.amount, lambda: self._replace(worker, act))
        return self._tell(act, session=worker.session)

    def _replace(self, worker: Worker, act: Act) -> None:
        """Start another worker in its place once it has ended by itself."""
        if worker.runs:
            self._after(_PUT_OFF_S, lambda: self._replace(worker, act))
            return
        self._record.did("ended", act.whom, session=worker.session, exit_code=worker.exit_code)
        worker.kill()
        worker.start()

    def _jump(self, act: Act) -> bool:
        self._fleet[act.whom].clock.put(act.amount)
        return self._tell(act, to_s=act.amount)

    def _cut(self, act: Act) -> bool:
        wires = self._wires[act.whom]
        (wires.broker if act.kind is Kind.BROKER_CUT else wires.ledger).cut()
        return self._tell(act)

    def _delay(self, act: Act) -> bool:
        wires = self._wires[act.whom]
        wire = wires.broker if act.kind is Kind.BROKER_DELAY else wires.ledger
        wire.delay(act.amount)
        self._after(_DELAYED_S, lambda: wire.delay(0))
        return self._tell(act, by_s=act.amount)

    def _freeze(self, act: Act) -> bool:
        wires = self._wires[act.whom]
        wire = wires.broker if act.kind is Kind.BROKER_FREEZE else wires.ledger
        wire.freeze()
        self._after(act.amount, wire.thaw)
        return self._tell(act, for_s=act.amount)

    def _cut_at(self, act: Act) -> bool:
        """Arm a wire. The connection ends with the next matching request."""
        wires = self._wires[act.whom]
        to_broker = act.kind in (Kind.BROKER_UNSENT, Kind.BROKER_UNHEARD)
        wire, pattern = (wires.broker, ANYTHING) if to_broker else (wires.ledger, COMMIT)
        where = Break.BEFORE if act.kind in (Kind.BROKER_UNSENT, Kind.LEDGER_UNSENT) else Break.AFTER
        wire.end_at(pattern, where)
        return self._tell(act)

    def _die(self, act: Act) -> bool:
        """Kill a server. It is down for ``amount`` seconds and the time that it takes to recover."""
        if (last := self._away.get(act.kind)) is not None and last.is_alive():
            return False
        self._away[act.kind] = Thread(target=self._bring_back, args=(act,), name=act.kind.name)
        (self._broker if act.kind is Kind.BROKER_DEATH else self._database).kill()
        self._tell(act)
        self._away[act.kind].start()
        return True

    def _bring_back(self, act: Act) -> None:
        try:
            time.sleep(act.amount)
            if act.kind is Kind.BROKER_DEATH:
                self._broker.restart()
            else:
                self._database.bring_back()
            self._record.did("back", act.whom)
        except BaseException as error:
            self.error = error

    def _empty(self, act: Act) -> bool:
        return self._with_servers(act, lambda: self._tell(act, queue=self._purge()))

    def _echo(self, act: Act) -> bool:
        say = self._echoes.double if act.kind is Kind.DOUBLE else self._echoes.stale
        return self._with_servers(act, lambda: self._tell(act, messages=say(int(act.amount))))

    def _with_servers(self, act: Act, deed: Callable[[], bool]) -> bool:
        """Perform the deed unless a server is down. The deed would wait for that server and delay all later acts."""
        if any(thread.is_alive() for thread in self._away.values()):
            return False
        try:
            return deed()
        except SluiceError:
            return False

    _DEEDS: Mapping[Kind, Callable[["Nemesis", Act], bool]] = {
        Kind.KILL: _kill,
        Kind.FIRST_KILL: _kill_first,
        Kind.STOP: _stop,
        Kind.TELL: _tell_to_end,
        Kind.CLOCK: _jump,
        Kind.BROKER_CUT: _cut,
        Kind.LEDGER_CUT: _cut,
        Kind.BROKER_DELAY: _delay,
        Kind.LEDGER_DELAY: _delay,
        Kind.BROKER_FREEZE: _freeze,
        Kind.LEDGER_FREEZE: _freeze,
        Kind.LEDGER_HANG: _freeze,
        Kind.BROKER_UNSENT: _cut_at,
        Kind.BROKER_UNHEARD: _cut_at,
        Kind.LEDGER_UNSENT: _cut_at,
        Kind.LEDGER_UNHEARD: _cut_at,
        Kind.BROKER_DEATH: _die,
        Kind.LEDGER_DEATH: _die,
        Kind.PURGE: _empty,
        Kind.DOUBLE: _echo,
        Kind.STALE: _echo,
    }
