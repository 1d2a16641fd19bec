"""``sluice parents``: which jobs a job needs, by alternative. It reads the definitions alone."""

from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.naming import canonical, job_options
from ops.cli.page import Table
from planner.keyspaces import keyspace_of

options = job_options


def run(desk: Desk, options: Options) -> int:
    name = canonical(desk, options.app, options.key)
    gates = keyspace_of(desk.catalogue[name.app], desk.catalogue).gates(desk.catalogue[name.app], name.key)
    desk.output.answer(
        [{"group": gate.name, "jobs": [need.parent for need in gate.needs]} for gate in gates],
        Table(
            ("group", "app", "key", "must have"),
            [(gate.name, *need.parent, need.when) for gate in gates for need in gate.needs],
            empty=f"{name} needs no other job.",
        ),
    )
    return DONE
