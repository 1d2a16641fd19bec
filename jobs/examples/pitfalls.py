"""Making something that must not be there yet: three sagas that get it wrong, and one that does not.

Two people may want a folder of one name. Whoever comes first is to have it; the other's saga fails, and leaves no
trace. This looks easy. Each of the first three sagas loses somebody's folder, or leaves one that nobody owns:

    hasty        deletes the folder of the other
    remembering  leaves its own folder behind, if a worker dies at the wrong moment
    checking     gives one folder to two owners
    claiming     works

    sluice --apps jobs/examples/pitfalls.py run hasty ann_photos
    sluice --apps jobs/examples/pitfalls.py run hasty bob_photos     # fails, and ann's photos are gone

They all stumble over the same three facts. Undo begins with the step that failed, not with the one before it. A
worker may die after a step has done its work and before anybody has written that down; then the step runs again. And
other flights go on in between any two lines.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from sluice import Fatal, Step, saga
from sluice.jobs.sagas.flight import Flight


class Shelf:
    """Where the folders are, and a table that says whose each is, which only the last of the sagas asks."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(parents=True, exist_ok=True)
        with self.claims() as claims:
            claims.execute("CREATE TABLE IF NOT EXISTS claim (name TEXT PRIMARY KEY, owner TEXT NOT NULL)")

    def folder(self, flight: Flight) -> Path:
        return self.place / str(flight.inputs["name"])

    @contextmanager
    def claims(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.place / "claims.db", timeout=30)
        try:
            with connection:
                yield connection
        finally:
            connection.close()


def shelf() -> Shelf:
    return Shelf(Path(".sluice") / "shelf")


# Wrong: what is undone was not necessarily done.


class MakeOrFail(Step):
    def do(self, flight: Flight) -> None:
        flight.context.folder(flight).mkdir()  # FileExistsError where there is one

    def undo(self, flight: Flight) -> None:
        """A step that has failed is undone too, for it may have failed half way. This one failed because the folder is
        somebody else's, and its undo deletes it."""
        shutil.rmtree(flight.context.folder(flight), ignore_errors=True)


@saga(job_id="{who}_{name}", context=shelf)
def hasty(flight: Flight) -> list[Step]:
    return [MakeOrFail()]


# Wrong: what a step notes is kept when it is over, and not before.


class MakeAndRemember(Step):
    def do(self, flight: Flight) -> Fatal | None:
        folder = flight.context.folder(flight)
        # This much works: the map is kept when the flight turns back, so the undo below sees what is noted here.
        flight.working["was_there"] = folder.exists()
        if flight.working["was_there"]:
            return Fatal(f"{folder} is there already")
        folder.mkdir()
        # If the worker dies here, the folder is there and the note is not. The step runs again, finds a folder,
        # takes its own for somebody else's, and fails.
        return None

    def undo(self, flight: Flight) -> None:
        """Keeps what was there before. After such a crash that is this saga's own folder, which nobody will ever
        delete, though the saga says that it has failed and left nothing."""
        if not flight.working.get("was_there", True):
            shutil.rmtree(flight.context.folder(flight), ignore_errors=True)


@saga(job_id="{who}_{name}", context=shelf)
def remembering(flight: Flight) -> list[Step]:
    return [MakeAndRemember()]


# Wrong: what was true at the end of one step need not be true in the next.


class Check(Step):
    def do(self, flight: Flight) -> Fatal | None:
        folder = flight.context.folder(flight)
        return Fatal(f"{folder} is there already") if folder.exists() else None


class Make(Step):
    def do(self, flight: Flight) -> None:
        """May run twice, so a folder that is there already has to be fine: it may be our own."""
        flight.context.folder(flight).mkdir(exist_ok=True)

    def undo(self, flight: Flight) -> None:
        shutil.rmtree(flight.context.folder(flight), ignore_errors=True)


@saga(job_id="{who}_{name}", context=shelf)
def checking(flight: Flight) -> list[Step]:
    """Now a failed check undoes nothing, and a crash between the steps does no harm. But two flights that check before
    either makes the folder both succeed, and if one of them is undone later, it deletes the folder of the other.
    Sluice runs a job once; it does not keep two jobs apart that want the same thing."""
    return [Check(), Make()]


# Right: say who you are, have that written down, claim the name, and only then make anything.


class SayWho(Step):
    """A step of its own, because its end is the boundary at which the map is kept: from the next step on, the flight
    is the same owner however often it begins again."""

    def do(self, flight: Flight) -> None:
        flight.working["owner"] = uuid4().hex


class ClaimName(Step):
    """The table lets one owner have a name, and says who: so a flight that comes back after a crash knows its own
    claim when it sees it, and another's as well. Looking and claiming is one statement, between which nobody comes."""

    def do(self, flight: Flight) -> Fatal | None:
        name, owner = flight.inputs["name"], flight.working["owner"]
        with flight.context.claims() as claims:
            claims.execute("INSERT OR IGNORE INTO claim VALUES (?, ?)", [name, owner])
            (holder,) = claims.execute("SELECT owner FROM claim WHERE name = ?", [name]).fetchone()
        return None if holder == owner else Fatal(f"{name} is somebody else's")

    def undo(self, flight: Flight) -> None:
        """Ours, or nothing: it is also called where the claim failed because another has the name."""
        with flight.context.claims() as claims:
            claims.execute(
                "DELETE FROM claim WHERE name = ? AND owner = ?",
                [flight.inputs["name"], flight.working["owner"]],
            )


@saga(job_id="{who}_{name}", context=shelf)
def claiming(flight: Flight) -> list[Step]:
    """``Make`` is the step that was wrong above. Behind a claim it is right: whoever gets there owns the name, so a
    folder that is there already is its own, and so is what its undo deletes. The folder goes before the claim does.

    ``flight.token`` would do for an owner too: it is the same in do and undo of one step, in every try and after every
    crash, and needs no step to be written down.
    """
    return [SayWho(), ClaimName(), Make()]
