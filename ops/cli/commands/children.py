"""``sluice children``: which jobs need a job. It reads the definitions alone."""

from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.naming import canonical, job_options
from ops.cli.page import Table
from planner.keyspaces import keyspace_of

options = job_options


def run(desk: Desk, options: Options) -> int:
    name = canonical(desk, options.app, options.key)
    app = desk.catalogue[name.app]
    found = list(keyspace_of(app, desk.catalogue).children(app, name.key))
    desk.output.answer(found, Table(("app", "key"), found, empty=f"No job needs {name}."))
    return DONE
