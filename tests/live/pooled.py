"""Apps for workers behind a pooler: a chain, jobs that meet again, limits, retries, a saga, and writes of users."""

from sluice import Retry, Step, app, saga
from sluice.jobs.retry import fixed

_KEY = {"job_id": "{x}", "identifiers": {"x": "int"}}


@app(**_KEY)
def source(job): ...


@app(depends_on={"app_name": ["source"]}, concurrency={"pool": "narrow", "limit": 2}, **_KEY)
def left(job): ...


@app(depends_on={"app_name": ["source"]}, rate_limit={"limit": "50/s", "burst": 5}, **_KEY)
def right(job): ...


@app(
    depends_on={"app_name": ["left", "right"]}, max_fails=1, retry={"rule": "fixed", "seconds": 0.01}, **_KEY
)
def meeting(job):
    """Fail in the first round."""
    if job.round == 0:
        raise ValueError("not yet")


@app(depends_on={"app_name": ["meeting"]}, **_KEY)
def writing(job):
    """Write in a transaction with the job's success. The session is the user's own."""
    with job.transaction() as connection:
        connection.execute("CREATE TEMPORARY TABLE mine (x int) ON COMMIT DROP")
        connection.execute("SET LOCAL work_mem = '9MB'")
        connection.execute("INSERT INTO mine VALUES (1)")
        connection.execute("INSERT INTO public.written VALUES (%s)", [job.key])


class Book(Step):
    retry = fixed(seconds=0.01, times=2)

    def do(self, flight):
        if not flight.working.get("tried"):
            flight.working["tried"] = True
            return Retry("busy")
        return None


class Pay(Step):
    def do(self, flight): ...


@saga(job_id="{x}")
def voyage(flight):
    return [Book(), Pay()]
