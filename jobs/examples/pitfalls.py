"""Create something that must not exist yet: three sagas with a mistake, and a correct saga.

Two users may request a folder of the same name. The first one gets it; the saga of the second one fails and leaves
nothing behind. This looks easy, but each of the first three sagas loses a folder or leaves an orphan:

    hasty        deletes the folder of the other user
    remembering  leaves its own folder behind if a worker dies at the wrong moment
    checking     gives one folder to two owners
    claiming     works

    sluice --apps jobs/examples/pitfalls.py run hasty ann_photos
    sluice --apps jobs/examples/pitfalls.py run hasty bob_photos     # fails, and ann's photos are gone

The three mistakes overlook the same facts. Undo begins with the step that failed, not with the step before it. A
worker may die after a step has done its work and before the journal has the step; then the step runs again. Other
flights continue between any two lines.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from sluice import Fatal, Flight, Step, saga


class Shelf:
    """The folders, and a table with the owner of each. Only the last saga uses the table."""

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


# Wrong: a step that is undone may have done nothing.


class MakeOrFail(Step):
    def do(self, flight: Flight) -> None:
        flight.context.folder(flight).mkdir()  # Raises FileExistsError if it exists.

    def undo(self, flight: Flight) -> None:
        """A failed step is undone too, because it may have failed halfway. This step failed because the folder belongs
        to another user, and its undo deletes that folder."""
        shutil.rmtree(flight.context.folder(flight), ignore_errors=True)


@saga(job_id="{who}_{name}", context=shelf)
def hasty(flight: Flight) -> list[Step]:
    return [MakeOrFail()]


# Wrong: the working map is stored when a step has ended, and not before.


class MakeAndRemember(Step):
    def do(self, flight: Flight) -> Fatal | None:
        folder = flight.context.folder(flight)
        # This part works: the map is stored when the undo begins, so the undo below can read this entry.
        flight.working["was_there"] = folder.exists()
        if flight.working["was_there"]:
            return Fatal(f"{folder} already exists")
        folder.mkdir()
        # If the worker dies here, the folder exists and the entry is lost. The step runs again, finds its own folder,
        # takes it for the folder of another user, and fails.
        return None

    def undo(self, flight: Flight) -> None:
        """Keep a folder that existed before. After such a crash this is the saga's own folder. It is never deleted,
        although the saga has failed and should leave nothing behind."""
        if not flight.working.get("was_there", True):
            shutil.rmtree(flight.context.folder(flight), ignore_errors=True)


@saga(job_id="{who}_{name}", context=shelf)
def remembering(flight: Flight) -> list[Step]:
    return [MakeAndRemember()]


# Wrong: a condition that held at the end of one step may not hold in the next step.


class Check(Step):
    def do(self, flight: Flight) -> Fatal | None:
        folder = flight.context.folder(flight)
        return Fatal(f"{folder} already exists") if folder.exists() else None


class Make(Step):
    def do(self, flight: Flight) -> None:
        """This may run twice, so it must accept an existing folder: it may be its own."""
        flight.context.folder(flight).mkdir(exist_ok=True)

    def undo(self, flight: Flight) -> None:
        shutil.rmtree(flight.context.folder(flight), ignore_errors=True)


@saga(job_id="{who}_{name}", context=shelf)
def checking(flight: Flight) -> list[Step]:
    """Now a failed check undoes nothing, and a crash between the steps does no harm. But if two flights both check
    before either makes the folder, both succeed. If one flight is undone later, it deletes the folder of the other.
    Sluice runs each job once. It does not separate two jobs that use the same resource."""
    return [Check(), Make()]


# Right: choose an owner id, let the journal store it, claim the name, and only then make the folder.


class ChooseOwner(Step):
    """A separate step, because the map is stored at its end: from the next step on, the flight has the same owner id
    however often it is started again."""

    def do(self, flight: Flight) -> None:
        flight.working["owner"] = uuid4().hex


class ClaimName(Step):
    """The table gives each name to one owner and stores the owner. So a flight that continues after a crash
    recognizes its own claim. The check and the claim are one statement, so no other flight comes between them."""

    def do(self, flight: Flight) -> Fatal | None:
        name, owner = flight.inputs["name"], flight.working["owner"]
        with flight.context.claims() as claims:
            claims.execute("INSERT OR IGNORE INTO claim VALUES (?, ?)", [name, owner])
            (holder,) = claims.execute("SELECT owner FROM claim WHERE name = ?", [name]).fetchone()
        return None if holder == owner else Fatal(f"{name} belongs to another owner")

    def undo(self, flight: Flight) -> None:
        """Delete only its own claim. This is also called if the claim failed because another owner has the name."""
        with flight.context.claims() as claims:
            claims.execute(
                "DELETE FROM claim WHERE name = ? AND owner = ?",
                [flight.inputs["name"], flight.working["owner"]],
            )


@saga(job_id="{who}_{name}", context=shelf)
def claiming(flight: Flight) -> list[Step]:
    """``Make`` is the step that was wrong above. After a claim it is right: a flight that reaches it owns the name, so
    an existing folder is its own, and its undo deletes only its own folder. The folder is deleted before the claim.

    ``flight.token`` could be the owner id too. It is the same in do and undo of one step, in every try and after every
    crash, and no step must store it.
    """
    return [ChooseOwner(), ClaimName(), Make()]
