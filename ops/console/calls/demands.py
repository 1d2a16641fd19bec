"""How much there is to do, for whoever keeps as many workers as that takes."""

from msgspec import Struct

from sluice.ops.console.office import Office
from sluice.ops.console.route import Asked, Nothing, Route
from sluice.ops.demand import Wanted


class Apps(Struct, frozen=True, forbid_unknown_fields=True):
    """These alone, whether anybody has heard of them or not."""

    app: tuple[str, ...] = ()


def demand(office: Office, asked: Asked[Apps, Nothing]) -> Wanted:
    """Of one that is named the definitions are not asked: they may be at fault while its jobs run."""
    apps = asked.query.app
    known = office.catalogue.queues if office.has_definitions and not apps else ()
    return office.demand.wanted(apps, known=known)


ROUTES = (
    Route(
        method="GET",
        path="/api/demand",
        call=demand,
        summary="How many jobs could be run at once, now or soon",
        answers=Wanted,
        query=Apps,
    ),
)
