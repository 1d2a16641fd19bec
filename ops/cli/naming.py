"""How a command names one job."""

import argparse

from jobs.ref import JobName
from ops.cli.command import Options
from ops.cli.desk import Desk
from planner.keyspaces import keyspace_of


def job_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app")
    parser.add_argument("key")


def named_job(desk: Desk, options: Options) -> JobName:
    """The job by its canonical key; as it was typed where no definitions are at hand to tell."""
    if not desk.settings.apps:
        return JobName(options.app, options.key)
    app = desk.catalogue.app(options.app)
    return JobName(app.name, keyspace_of(app, desk.catalogue).canonical(app, options.key))
