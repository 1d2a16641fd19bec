"""A single executor on a world's ledger, without the rest of a process."""

from pathlib import Path
from uuid import uuid4

from sluice.actors.assembly import stores
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.settings.settings import Settings
from sluice.broker.messages import Execute, JobRound, Message
from sluice.jobs.catalogue import load
from sluice.jobs.model.history import Round
from sluice.jobs.model.names import JobName
from sluice.ledger.reads.job_details import dossier
from sluice.ledger.recovery import leases
from tests.world import LEASE_S, World

SOURCE = """
from sluice import Fatal, Retry, app

@app(job_id="{x}")
def transfer(job):
    with job.transaction() as connection:
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))

@app(job_id="{x}")
def overtaken(job):
    with job.transaction() as connection:
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))
        connection.execute("UPDATE job SET claim = claim + 1 WHERE app = 'overtaken'")

@app(job_id="{x}")
def broken(job):
    with job.transaction() as connection:
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))
        raise RuntimeError("after the write")

@app(job_id="{x}")
def talks(job):
    job.log.info("before")
    with job.transaction() as connection:
        job.log.info("inside")
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))
    job.log.info("after")

@app(job_id="{x}")
def breaks_afterwards(job):
    with job.transaction() as connection:
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))
    job.log.info("sending the receipt")
    raise ConnectionError("SMTP is down")

@app(job_id="{x}")
def opens_two(job):
    for _ in range(2):
        with job.transaction() as connection:
            connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))

@app(job_id="{x}", max_fails=5)
def stolen():
    raise Fatal("this card is stolen")

@app(job_id="{x}", max_fails=5, retry={"rule": "fixed", "seconds": 10})
def busy():
    raise Retry("the till is busy", after="5m")

@app(job_id="{x}")
def plain(job):
    job.log.info("done")

@app(job_id="{x}")
async def later(job):
    job.log.info("done")

@app(job_id="{x}", max_fails=5)
def counts(job, value=None):
    return {"key": job.key, "claim": job.claim, "value": value}

@app(job_id="{x}")
async def counts_later(job):
    return job.claim

@app(job_id="{x}", max_fails=5)
def returns_an_object(job):
    return {"rows": [1, object()]}

@app(job_id="{x}", max_fails=5)
def returns_much(job):
    return "x" * 300_000

@app(job_id="{x}")
def banks_and_counts(job):
    with job.transaction() as connection:
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))
    return job.claim

@app(job_id="{x}")
def banks_and_returns_an_object(job):
    with job.transaction() as connection:
        connection.execute("INSERT INTO effect VALUES (%s)", (job.key,))
    return object()
"""


class Acknowledged:
    """Delivery that records its verdicts."""

    def __init__(self) -> None:
        self.verdicts: list[str] = []

    def acknowledge(self) -> None:
        self.verdicts.append("acknowledged")

    def give_back(self) -> None:
        self.verdicts.append("given back")


class Bench:
    """A single executor on the world's ledger. Its messages are kept in ``sent``."""

    def __init__(self, world: World, folder: Path) -> None:
        (folder / "definitions.py").write_text(SOURCE)
        world.catalogue = load([str(folder / "definitions.py")])
        self.world = world
        self.holdings = ClaimsInFlight()
        self.sent: list[Message] = []
        self.worker = uuid4()
        self.stores = stores(Settings(home=folder))
        world.ledger.transact(
            lambda tx: leases.join(tx, self.worker, host="test", pid=1, queues=[], threads=1, lease_s=LEASE_S)
        )
        self.running = Execution(
            world.ledger,
            lambda: world.catalogue,
            self.holdings,
            self.worker,
            self.sent.extend,
            stores=self.stores,
        )
        world.ledger.transact(lambda tx: tx.write("CREATE TABLE public.effect (key text)"))

    def close(self) -> None:
        self.world.ledger.transact(lambda tx: tx.write("DROP TABLE public.effect"))

    def run(self, app: str) -> Acknowledged:
        self.world.submit(app)
        return self.hint(app)

    def hint(self, app: str, *keys: str) -> Acknowledged:
        """Notify the executor of ready jobs, in one batch."""
        delivery = Acknowledged()
        jobs = [f"{app}/{key}" for key in keys or ("1",)]
        turns = tuple(JobRound(self.world.known(job).id, self.world.round(job)) for job in jobs)
        self.running.execute(Execute(app=app, jobs=turns), delivery)
        assert self.running.join(timeout_s=30)
        return delivery

    def judge(self) -> None:
        """Deliver the sent messages, so that the outcomes are judged."""
        self.world.queue.extend(self.sent)
        self.sent.clear()
        self.world.deliver()

    def round_of(self, job: str) -> Round:
        """Return the last round of a job."""
        app, _, key = job.partition("/")
        found = self.world.ledger.transact(lambda tx: dossier(tx, JobName(app, key or "1")))
        assert found is not None
        return found.rounds[-1]

    def effects(self) -> int:
        return int(self.world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM public.effect"))[0])
