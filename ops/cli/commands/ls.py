"""``sluice ls``: jobs by what they have in common."""

import argparse

from msgspec.structs import asdict

from jobs.errors import BadRequest
from jobs.states import State
from ledger.connection import Tx
from ledger.reads import listing, progress
from ops.cli.asking import past_option
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.page import Line, Table
from ops.times import moment


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--app", dest="of_app", metavar="APP")
    parser.add_argument(
        "--state",
        action="append",
        choices=[str(state) for state in State],
        metavar="STATE",
        help="may be repeated; one of " + ", ".join(State),
    )
    parser.add_argument("--submission", metavar="ID", help="those that this submission wants")
    parser.add_argument(
        "--since", type=past_option, metavar="T", help="changed since; a time, or how long ago: 10m"
    )
    parser.add_argument(
        "--uncollected", action="store_true", help="those that have ended and that nobody has archived"
    )
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="at most so many, 100 by default")


def run(desk: Desk, options: Options) -> int:
    wanted = listing.Filter(
        app=options.of_app,
        states=tuple(State(word) for word in options.state or ()),
        submission=options.submission,
        since=options.since,
        uncollected=options.uncollected,
        limit=max(options.limit, 0),
    )
    found = Installation(desk).ask(lambda tx: _jobs(tx, wanted))
    desk.output.answer(
        [_document(job) for job in found],
        Table(
            ("app", "key", "state", "round", "since (UTC)"),
            [(job.app, job.key, _state(job), job.round, moment(job.changed_at)) for job in found],
            empty="No jobs.",
        ),
    )
    if found and len(found) == wanted.limit:
        desk.output.note(Line(f"There may be more; --limit shows more than {wanted.limit}.", "bright_black"))
    return DONE


def _document(job: listing.Listed) -> dict[str, object]:
    """A step is told by its partitions besides."""
    told = {word: value for word, value in asdict(job).items() if word != "place"}
    return told if job.span is None else {**told, "span": job.span}


def _state(job: listing.Listed) -> str:
    if job.uncollected:
        return f"{job.state}, uncollected"
    return f"{job.state}, paused" if job.paused else job.state


def _jobs(tx: Tx, wanted: listing.Filter) -> list[listing.Listed]:
    if wanted.submission is not None and progress.status(tx, wanted.submission) is None:
        raise BadRequest(
            f"There is no submission {wanted.submission}.", advice="`sluice submissions` lists what there is."
        )
    return listing.jobs(tx, wanted)
