"""How a command names one schedule."""

from collections.abc import Iterable

from jobs.catalogue.faults import nearest
from jobs.errors import BadRequest
from jobs.schedule import Schedule
from ops.cli.desk import Desk


def defined(desk: Desk, id_: str) -> Schedule:
    """The schedule that the definitions have under this id; BadRequest names the nearest."""
    found = desk.catalogue.schedules.get(id_)
    if found is None:
        raise unknown(id_, desk.catalogue.schedules, listing="sluice schedules next")
    return found


def unknown(id_: str, known: Iterable[str], *, listing: str) -> BadRequest:
    return BadRequest(
        f"There is no schedule {id_!r}{nearest(id_, known)}.",
        advice=f"`{listing}` lists those that there are.",
    )
