"""``sluice saga force-done``: what an undo should have done was done by hand, and the saga goes on behind it."""

import argparse

from jobs.errors import BadRequest
from jobs.ref import JobName
from jobs.sagas.entry import Entry, Mark
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.naming import job_options
from ops.cli.page import Line
from ops.cli.sagas import fatal_saga
from ops.flight_words import counted
from ops.whoami import whoami
from ops.words import command


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    parser.add_argument("--note", metavar="TEXT", help="what was done; it stands in the journal")


def run(desk: Desk, options: Options) -> int:
    installation = Installation(desk)
    found = fatal_saga(desk, installation, options.app, options.key)
    name, line = found.job.name, found.flight.dismal
    if line is None:
        raise _nothing_failed(name, found.flight.last)
    by = whoami()
    submission = installation.client.force_done(name, by=by, note=options.note)
    document = {
        "app": name.app,
        "key": name.key,
        "forced": {"step": line.step, "name": line.name},
        "by": by,
        "submission": submission,
    }
    told = f"The undo of {counted(found.flight, line.step)}, counts as done; {name} goes on."
    desk.output.answer(document, Line(told))
    return DONE


def _nothing_failed(name: JobName, last: Entry | None) -> BadRequest:
    if last is not None and last.mark is Mark.FORCED:
        return BadRequest(
            f"The undo of {last.name} counts as done already.",
            advice=f"`{command('saga retry-undo', name)}` has {name} go on behind it.",
        )
    return BadRequest(
        f"No undo of {name} has failed: its steps could not be made again.",
        advice=f"Mend what makes them, then `{command('saga retry-undo', name)}`.",
    )
