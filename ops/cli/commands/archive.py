"""``sluice archive``: mark what has been collected of an app: all that has finished, what ended in some ways, or these
jobs. What each came to stays; ``sluice ls --uncollected`` lists what nobody has archived yet.

It is for apps with ``archive: manual``. Whoever archives by hand collects whatever the job came to by then.
"""

import argparse
from collections.abc import Iterable
from shlex import quote

from jobs.errors import BadRequest
from jobs.ref import JobName
from jobs.states import TERMINAL, State
from ledger import collecting
from ledger.collecting import COLLECTED
from ledger.connection import Tx
from ledger.reads import dossier
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.meant import meant_job
from ops.cli.page import Line
from ops.words import command

#: So many are archived in one transaction.
BATCH = 10_000
_OUTCOMES = tuple(state for state in State if state in COLLECTED)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app")
    parser.add_argument(
        "key", nargs="*", help="these jobs, all of them or none; without: all that have ended"
    )
    parser.add_argument(
        "--outcome",
        action="append",
        choices=[str(state) for state in _OUTCOMES],
        metavar="STATE",
        help="only what ended so; may be repeated; one of " + ", ".join(_OUTCOMES),
    )


def run(desk: Desk, options: Options) -> int:
    installation = Installation(desk)
    outcomes = tuple(State(word) for word in options.outcome or _OUTCOMES)
    if options.key and options.outcome:
        raise BadRequest(
            "Keys say which jobs, and --outcome says which otherwise.", advice="Give one of the two."
        )
    if options.key:
        archived = _named(desk, installation, options.app, options.key)
    else:
        archived = sum(_ended(installation, _app(desk, options.app), state) for state in outcomes)
    jobs = "1 job is" if archived == 1 else f"{archived} jobs are"
    desk.output.answer({"archived": archived}, Line(f"{jobs} archived."))
    return DONE


def _app(desk: Desk, app: str) -> str:
    """UnknownApp where the definitions do not have it; where there are none the ledger decides."""
    return desk.catalogue.app(app).name if desk.settings.apps else app


def _ended(installation: Installation, app: str, state: State) -> int:
    archived = 0
    while batch := installation.ledger.transact(
        lambda tx: collecting.archive_ended(tx, app, state, limit=BATCH)
    ):
        archived += len(batch)
    return archived


def _named(desk: Desk, installation: Installation, app: str, keys: Iterable[str]) -> int:
    meant = dict(meant_job(desk, installation, app, key) for key in keys)

    def work(tx: Tx) -> int:
        archived = {*collecting.archive_named(tx, [*meant])}
        for name, unknown in meant.items():
            found = dossier.job(tx, name)
            if found is None or found.id not in archived:
                raise _refusal(name, found, unknown)
        return len(archived)

    return installation.ledger.transact(work)


def _refusal(name: JobName, found: dossier.Job | None, unknown: BadRequest | None) -> BadRequest:
    """Why this one cannot be archived."""
    why = f"`{command('why', name)}` says more."
    if found is None:
        return unknown or BadRequest(f"The ledger has no job {name}.", advice=why)
    if found.state not in TERMINAL:
        return BadRequest(f"{name} is {found.state}; only what has ended can be archived.", advice=why)
    if not found.collect:
        return BadRequest(
            f"{name} is {found.state}, and nobody has to collect it.",
            advice="Only jobs with `archive: manual` are archived.",
        )
    if found.archived_at is None:
        return BadRequest(f"{name} is {found.state}, and its halves run in its place.", advice=why)
    return BadRequest(
        f"{name} has been archived before.",
        advice=f"`sluice ls --app {quote(name.app)} --uncollected` lists the others.",
    )
