"""How a command names one job."""

import argparse

from jobs.ref import JobName
from ops.cli.desk import Desk
from planner.keyspaces import keyspace_of


def job_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app")
    parser.add_argument("key")


def named_job(desk: Desk, app: str, key: str) -> JobName:
    """The job by its canonical key; as it was typed where no definitions are at hand to tell."""
    if not desk.settings.apps:
        return JobName(app, key)
    return canonical(desk, app, key)


def canonical(desk: Desk, app: str, key: str) -> JobName:
    """The job by its canonical key. UnknownApp or BadKey where the definitions know better."""
    known = desk.catalogue.app(app)
    return JobName(known.name, keyspace_of(known, desk.catalogue).canonical(known, key))
