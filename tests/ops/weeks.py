"""Tables of a week in April: a join of a grouping, which reads a staging query and an external table."""

from typing import Any

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from tests.ops.site import Site

APPS: dict[str, Any] = {
    "staging": {"partition": "day", "bash_cmd": "true"},
    "grouped": {
        "partition": "day",
        "step_size": 7,
        "bash_cmd": "true",
        "table_dependencies": [{"table": "staging", "start_offset": 2}, {"table": "events"}],
    },
    "joined": {
        "partition": "day",
        "bash_cmd": "true",
        "table_dependencies": [{"table": "grouped"}],
    },
}
WEEK = "2024-04-01..2024-04-07"


def asked_for(site: Site) -> str:
    """Submit the join for the week, and return the id of the submission."""
    site.define(APPS)
    return site.world.submit("joined", None, start="2024-04-01", end="2024-04-07", id="week")


def job(site: Site, app: str, partitions: str) -> str:
    """Return the name of a job as the world uses it."""
    return str(JobName(app, f"{partitions}@{site.world.catalogue[app].version}"))


def finish(site: Site, app: str, *partitions: str, ending: Ending = Ending.DONE) -> None:
    for each in partitions:
        site.world.finish(job(site, app, each), ending)


def stage(site: Site) -> None:
    """Finish all staging jobs that the grouping reads."""
    march = [f"2024-03-{day}" for day in (30, 31)]
    finish(site, "staging", *march, *(f"2024-04-{day:02}" for day in range(1, 8)))


def land(site: Site, *partitions: str) -> int:
    """Land partitions by the command, deliver the notification, and return the number of landed partitions."""
    landed = site.says("partitions", "land", "events", *partitions)["landed"]
    site.world.tick(after_s=60)
    return int(landed)
