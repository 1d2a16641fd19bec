"""Commands for those who look after an installation: apps check, db upgrade, db check, db announce."""

from actors import upkeep
from jobs.errors import BadRequest
from ledger import migrate
from ledger.reads.check import breaches
from ops.cli.command import Command, Group, Options
from ops.cli.desk import Desk


def apps_check(desk: Desk, options: Options) -> int:
    """Loading is checking: every fault is listed by the error."""
    apps = list(desk.catalogue.values())
    if desk.output.as_json:
        desk.output.document({"apps": [app.name for app in apps]})
    else:
        desk.output.line(f"{len(apps)} apps, no faults.", style="green")
    return 0


def db_upgrade(desk: Desk, options: Options) -> int:
    revision = migrate.upgrade(desk.ledger_url)
    if desk.output.as_json:
        desk.output.document({"revision": revision})
    else:
        desk.output.line(f"The ledger is at {revision}.")
    return 0


def db_check(desk: Desk, options: Options) -> int:
    found = desk.ledger.transact(breaches)
    if desk.output.as_json:
        desk.output.document({"breaches": found})
    elif not found:
        desk.output.line("The ledger agrees with itself.", style="green")
    else:
        desk.output.table(("broken rule", "rows"), ((each.rule, each.rows) for each in found))
    return 1 if found else 0


def db_announce(desk: Desk, options: Options) -> int:
    """For after a broker was wiped: waiting for the groomer's patience to end does the same, later."""
    if desk.settings.broker_url.startswith("memory:"):
        raise BadRequest(
            "The in-process broker of another process cannot be reached.",
            advice="Name the broker with --broker or SLUICE_BROKER_URL; with `sluice up` there is no need.",
        )
    announced = upkeep.announce_everything(desk.ledger, desk.broker.publish)
    if desk.output.as_json:
        desk.output.document({"announced": announced})
    else:
        desk.output.line(f"{announced} jobs were announced again.")
    return 0


COMMANDS = (
    Group(
        word="apps",
        help="look at the definitions",
        commands=(Command(word="check", help="load them and list every fault", run=apps_check),),
    ),
    Group(
        word="db",
        help="look after the ledger",
        commands=(
            Command(word="upgrade", help="run what migrations are missing", run=db_upgrade),
            Command(word="check", help="whether the ledger agrees with itself", run=db_check),
            Command(word="announce", help="send out again everything that is ready", run=db_announce),
        ),
    ),
)
