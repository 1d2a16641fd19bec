"""Apps that book in a transaction of their own, and die at a place that the key of the job names.

Only the first claim of a job dies. ``during_the_commit`` dies while the database is busy with the commit: a trigger
there waits for a lock that this process holds, and the process is killed as soon as the database waits for it.
"""

import os
import signal
from collections.abc import Callable
from threading import Event, Thread

import django
import psycopg
from django.conf import settings
from django.db import connection as of_django
from django.db import transaction
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from sluice import Flight, Job, Step, app, saga

URL = os.environ["TELLER_URL"]
#: Key of the advisory lock that the trigger of the table waits for.
LOCK = int(os.environ["TELLER_LOCK"])
_AWAITED = """
SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE datname = current_database() AND locktype = 'advisory' AND objid = %s AND NOT granted
"""
_WORDS = {"job_id": "{place}", "max_losses": 1000}
_WRITE = "INSERT INTO public.booked VALUES ('{key}', '{part}')"

_ENGINE = create_engine(URL.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
_parts = psycopg.conninfo.conninfo_to_dict(URL)
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _parts["dbname"],
            "USER": _parts.get("user", ""),
            "PASSWORD": _parts.get("password", ""),
            "HOST": _parts.get("host", ""),
            "PORT": _parts.get("port", ""),
            "OPTIONS": {"options": _parts.get("options", "")},
        }
    }
)
django.setup()


def reaches(run: Job | Flight, place: str) -> None:
    """Kill this process if the job names this place and this is its first claim."""
    if run.claim == 1 and run.key == place:
        die()


def commits(run: Job | Flight) -> None:
    """Kill this process once the commit has begun, if the job names that."""
    if run.claim == 1 and run.key == "during_the_commit":
        database = psycopg.connect(URL, autocommit=True)
        database.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        Thread(target=_die_when_awaited, args=(database,), daemon=True).start()


def _die_when_awaited(database: psycopg.Connection) -> None:
    while database.execute(_AWAITED, (LOCK,)).fetchone() == (0,):
        pass
    die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    Event().wait()


def write(run: Job | Flight, execute: Callable[[str], object], app: str) -> None:
    for part in ("first", "second"):
        execute(_WRITE.format(key=f"{app}/{run.key}", part=part))
        reaches(run, f"after_the_{part}_write")


@app(**_WORDS)
def by_transaction(job: Job) -> int:
    reaches(job, "begins")
    with job.transaction() as connection:
        reaches(job, "in_the_transaction")
        write(job, connection.execute, job.app)
        reaches(job, "before_the_success")
        reaches(job, "after_the_success")
        commits(job)
    reaches(job, "after_the_commit")
    reaches(job, "before_the_return")
    return job.claim


@app(**_WORDS)
def by_psycopg(job: Job) -> int:
    reaches(job, "begins")
    with psycopg.connect(URL) as connection:
        reaches(job, "in_the_transaction")
        write(job, connection.execute, job.app)
        reaches(job, "before_the_success")
        job.succeed_in(connection)
        reaches(job, "after_the_success")
        commits(job)
    reaches(job, "after_the_commit")
    reaches(job, "before_the_return")
    return job.claim


@app(**_WORDS)
def by_sqlalchemy(job: Job) -> int:
    reaches(job, "begins")
    with Session(_ENGINE) as session, session.begin():
        reaches(job, "in_the_transaction")
        write(job, lambda statement: session.execute(text(statement)), job.app)
        reaches(job, "before_the_success")
        job.succeed_in(session)
        reaches(job, "after_the_success")
        commits(job)
    reaches(job, "after_the_commit")
    reaches(job, "before_the_return")
    return job.claim


@app(**_WORDS)
def by_django(job: Job) -> int:
    reaches(job, "begins")
    with transaction.atomic():
        reaches(job, "in_the_transaction")
        with of_django.cursor() as cursor:
            write(job, cursor.execute, job.app)
        reaches(job, "before_the_success")
        job.succeed_in(of_django)
        reaches(job, "after_the_success")
        commits(job)
    reaches(job, "after_the_commit")
    of_django.close()
    reaches(job, "before_the_return")
    return job.claim


class Book(Step):
    """Book in the first step of a saga. The second step does nothing."""

    def do(self, flight: Flight) -> None:
        reaches(flight, "begins")
        with flight.transaction() as connection:
            reaches(flight, "in_the_transaction")
            write(flight, connection.execute, flight.app)
            reaches(flight, "before_the_success")
            reaches(flight, "after_the_success")
            commits(flight)
        reaches(flight, "after_the_commit")
        reaches(flight, "before_the_return")

    def undo(self, flight: Flight) -> None:
        raise AssertionError("nothing is undone")


class Rest(Step):
    def do(self, flight: Flight) -> None:
        """Do nothing."""

    def undo(self, flight: Flight) -> None:
        raise AssertionError("nothing is undone")


@saga(job_id="{place}")
def by_flight(flight: Flight) -> list[Step]:
    return [Book(), Rest()]
