"""The small world in which processes die: its loads, and the check that all of them are done in the end."""

import http.client
import json
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import psycopg

from sluice.actors.client import Client
from sluice.broker.interface import Broker
from sluice.broker.messages import Cancel, Submit
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.notifications.dead_letters import delivery_counts
from sluice.ledger.recovery.invariants import breaches
from tests.crashes.declared import PROGRAMS, declare
from tests.jobs.receivers import HttpReceiver

TESTS = Path(__file__).parents[1]
_OPEN = "SELECT app || '/' || key FROM job WHERE state = ANY (%(live)s) ORDER BY id"
_UNPLANNED = "SELECT id FROM submission WHERE state = 'received'"
_ASKED = "SELECT id, state, reason FROM submission ORDER BY id"
_TWICE = "SELECT job FROM transition WHERE target = 'succeeded' GROUP BY job HAVING count(*) > 1"
_ROW = "SELECT * FROM job WHERE (app, key) = (%(app)s, %(key)s)"
_TRANSITIONS = """
    SELECT step FROM transition step JOIN job ON job.id = step.job
    WHERE (app, key) = (%(app)s, %(key)s) ORDER BY step.id
"""
#: Claims with a result, by job, of the jobs that return the number of their claim. A run that has committed its success
#: and died has left no result.
_RESULTS = """
    SELECT job.app || '/' || job.key, job.claim,
           array_agg(round.claim) FILTER (WHERE round.result IS NOT NULL OR round.result_pending),
           array_agg(round.result::bigint) FILTER (WHERE round.result IS NOT NULL)
    FROM job JOIN round ON round.job = job.id
    WHERE job.app = ANY (%(apps)s) AND job.pruned_at IS NULL GROUP BY job.id
"""
_LEFT = [*(LIVE - {State.EXPECTED})]
_TIMELESS = 1000
CONSOLE_TOKEN = "the token of these tests"
_HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {CONSOLE_TOKEN}"}
#: Open jobs that take a worker which has just started a few seconds.
_MANY = 100
DIAMOND = ("top", "left", "right", "bottom")
#: The app whose jobs add jobs, the app of these jobs, and the app that needs them.
FAN = ("cutter", "slice", "plate")
#: Sagas. Each of their steps leaves a line.
_FLIGHTS = ("pointed", "payer")
#: Terminal states of jobs that do not succeed.
_ENDS = {"idler": State.CANCELLED, "far": State.FAILED}


class Market:
    """Work for the processes. ``ask`` submits more of every given load. Each run leaves a line in ``effects``."""

    def __init__(self, ledger: Ledger, broker: Broker | None, folder: Path, receiver: HttpReceiver) -> None:
        self.receiver = receiver
        self.sources = f"{TESTS}/crashes/trade.py,{TESTS}/scripted.py,{TESTS}/live/nightly,{declare(folder)}"
        self.effects = folder / "effects"
        self.port = _free_port()
        self._folder = folder
        self._ledger = ledger
        self._broker = broker
        self._client = Client(ledger, broker.publish if broker else lambda _: None)
        self._asked = 0
        self._wanted: set[str] = set()
        with psycopg.connect(ledger.url, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS public.banked")
            connection.execute("CREATE TABLE public.banked (key text NOT NULL)")
            connection.execute("DROP TABLE IF EXISTS public.paid")
            connection.execute("CREATE TABLE public.paid (key text NOT NULL, step text NOT NULL)")

    def ask(self, *loads: str) -> None:
        """Submit each load once. If too many jobs are open, submit nothing, because the end would only take longer."""
        if self._is_behind():
            return
        self._asked += 1
        for load in loads:
            _LOADS[load](self, str(self._asked))

    def _is_behind(self) -> bool:
        return len(self._ledger.transact(lambda tx: tx.column(_OPEN, live=_LEFT))) > _MANY

    def want(self, *jobs: str) -> None:
        """Note that each of these jobs must leave a line."""
        self._wanted.update(jobs)

    def is_over(self) -> bool:
        """Return whether no work is left, and all wanted jobs have left their line."""
        if self._wanted - {f"{app}/{key}" for app, key, *_ in self._lines()}:
            return False
        return not self._ledger.transact(
            lambda tx: tx.column(_OPEN, live=_LEFT) or tx.column(_UNPLANNED) or delivery_counts(tx).pending
        )

    def left(self) -> str:
        silent = sorted(self._wanted - {f"{app}/{key}" for app, key, *_ in self._lines()})
        found = self._ledger.transact(
            lambda tx: (tx.column(_OPEN, live=_LEFT), tx.column(_UNPLANNED), tx.rows(_ASKED))
        )
        return f"open, unplanned, asked for: {found}; without a line: {silent}"

    def agrees(self) -> None:
        """Check that the ledger is consistent. This holds at any moment."""
        assert self._ledger.transact(breaches) == []

    def check(self) -> None:
        """Check that no job is lost, and that no claim was run twice."""
        self.agrees()
        lines = self._lines()
        assert self._wanted - {f"{app}/{key}" for app, key, *_ in lines} == set()
        claims = Counter(tuple(line) for line in lines if len(line) == 3 and line[0] not in _FLIGHTS)
        assert [claim for claim, times in claims.items() if times > 1] == []
        assert self._ledger.transact(lambda tx: tx.column(_TWICE)) == []
        self._check_states()
        self._check_results()
        self._check_flights()
        self._check_notices()
        with psycopg.connect(self._ledger.url) as connection:
            banked = Counter(key for (key,) in connection.execute("SELECT key FROM public.banked"))
            paid = Counter(connection.execute("SELECT key, step FROM public.paid").fetchall())
        assert banked == Counter(self._keys("banker"))
        assert paid == Counter((key, step) for key in self._keys("payer") for step in ("debit", "credit"))

    def _check_notices(self) -> None:
        """Check that each success was posted, if need be several times, and always under one id."""
        ids: dict[str, set[str]] = {}
        for body in self.receiver.bodies:
            ids.setdefault(body["key"], set()).add(body["id"])
        assert ids.keys() == {*self._keys("notice")}
        assert [key for key, each in ids.items() if len(each) > 1] == []

    def _keys(self, app: str) -> list[str]:
        return [job.removeprefix(f"{app}/") for job in self._wanted if job.startswith(f"{app}/")]

    def _lines(self) -> list[list[str]]:
        return (
            [line.split() for line in self.effects.read_text().splitlines()] if self.effects.exists() else []
        )

    def _states(self) -> Mapping[str, State]:
        rows = self._ledger.transact(lambda tx: tx.rows("SELECT app, key, state FROM job"))
        return {f"{app}/{key}": State(state) for app, key, state in rows}

    def _check_states(self) -> None:
        """Check the states of all jobs, except flights.

        A job with pruned history has ended. The schedule continues, so jobs of ``bell`` may be younger than the end.
        """
        odd = {
            job: state
            for job, state in self._states().items()
            if state is not _ENDS.get(job.partition("/")[0], State.SUCCEEDED)
            and not job.startswith("pointed/")
            and not (job.startswith("bell/") and state in _LEFT)
        }
        assert odd == {}, "\n".join(self._history(job) for job in odd)

    def _check_results(self) -> None:
        """Check that each success has one result: that of the claim that succeeded."""
        rows = self._ledger.transact(
            lambda tx: tx.rows(_RESULTS, apps=[*DIAMOND, *FAN, "steadied", "banker"])
        )
        odd = {
            job: (claim, stored, values)
            for job, claim, stored, values in rows
            if stored != [claim] or (values != [claim] and not (values is None and job.startswith("banker/")))
        }
        assert odd == {}

    def _history(self, job: str) -> str:
        """Return the row of a job and its transitions."""
        app, _, key = job.partition("/")
        row, transitions = self._ledger.transact(
            lambda tx: (tx.rows(_ROW, app=app, key=key), tx.column(_TRANSITIONS, app=app, key=key))
        )
        return "\n  ".join([f"{job}: {row}", *map(str, transitions)])

    def _check_flights(self) -> None:
        """Check that each flight has all of its effects, or none."""
        for job, state in self._states().items():
            if not job.startswith("pointed/"):
                continue
            made = {
                file.suffix
                for file in self._folder.glob(f"effects.pointed.{job.removeprefix('pointed/')}.made.*")
            }
            # A flight that will be undone has a key that ends with 9.
            due = (State.FAILED, 0) if job[-1] == "9" else (State.SUCCEEDED, 3)
            assert (state, len(made)) == due, self._history(job)

    def _publish(self, app: str, key: str) -> None:
        assert self._broker is not None
        raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": key}))
        self._broker.publish([Submit(id=f"{app}-{key}", submission=raw)])

    def diamond(self, key: str) -> None:
        """Submit the first app of the diamond, by a message if there is a broker."""
        self.want(*(f"{app}/{key}" for app in DIAMOND))
        if self._broker:
            self._publish("top", key)
        else:
            self._client.submit(Submission(app="top", key=key))

    def whole(self, key: str) -> None:
        """Submit the last app of the diamond, so that no job has to be planned after another has ended."""
        self.want(*(f"{app}/{key}" for app in DIAMOND))
        self._client.submit(Submission(app="bottom", key=key, push="wanted"))

    def stumble(self, key: str) -> None:
        self.want(f"shaky/{key}", f"steadied/{key}")
        self._client.submit(Submission(app="steadied", key=key))

    def fan(self, key: str) -> None:
        self.want(f"cutter/{key}", f"slice/{key}_1", f"slice/{key}_2", f"plate/{key}")
        self._client.submit(Submission(app="cutter", key=key))

    def notice(self, key: str) -> None:
        self.want(f"notice/{key}")
        self._client.submit(Submission(app="notice", key=key))

    def bank(self, key: str) -> None:
        self.want(f"banker/{key}")
        self._client.submit(Submission(app="banker", key=key))

    def pay(self, key: str) -> None:
        self.want(f"payer/{key}")
        self._client.submit(Submission(app="payer", key=key))

    def print(self, key: str) -> None:
        self.want(f"printer/{key}")
        self._client.submit(Submission(app="printer", key=key))

    def programs(self, key: str) -> None:
        for name in PROGRAMS:
            self.want(f"{name}/{key}")
            self._client.submit(Submission(app=name, key=key))

    def elsewhere(self, key: str) -> None:
        self.want(f"far/{key}")
        self._client.submit(Submission(app="far", key=key))

    def flight(self, key: str) -> None:
        self._fly(f"{key}0", {})

    def undone(self, key: str) -> None:
        self._fly(f"{key}9", {"do 2": ["fatal"] * _TIMELESS})

    def _fly(self, key: str, answers: Mapping[str, list[str]]) -> None:
        self.want(f"pointed/{key}")
        policy = {"max_losses": _TIMELESS}
        self._client.submit(Submission(app="pointed", key=key, kwargs={"answers": answers}, policy=policy))

    def chunks(self, key: str) -> None:
        first = 10 * int(key)
        self.want(f"report/{first}", f"clean/{first}", f"extract/{first}")
        kwargs = {"held": []}
        self._client.submit(Submission(app="report", work_ids=[first, first + 1, first + 2], kwargs=kwargs))

    def cancel(self, key: str) -> None:
        assert self._broker is not None
        id_ = self._client.submit(Submission(app="idler", key=key))
        self._broker.publish([Cancel(submission=id_)])

    def post(self, key: str) -> None:
        """Submit by the console, if it answers. Without an answer, the next call submits again, under another id."""
        body = {"app": "bottom", "key": f"{key}5", "id": f"post {key}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("POST", "/api/submissions", json.dumps(body), _HEADERS)
            if connection.getresponse().status == http.HTTPStatus.ACCEPTED:
                self.want(f"bottom/{key}5")
        except (OSError, http.client.HTTPException):
            return  # The console is dead, or has not started yet.
        finally:
            connection.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


_LOADS: Mapping[str, Callable[[Market, str], None]] = {
    load.__name__: load
    for load in (
        Market.diamond,
        Market.whole,
        Market.stumble,
        Market.notice,
        Market.fan,
        Market.bank,
        Market.pay,
        Market.print,
        Market.programs,
        Market.elsewhere,
        Market.flight,
        Market.undone,
        Market.chunks,
        Market.cancel,
        Market.post,
    )
}
