"""Command ``sluice resume``: resume a paused submission, or send a saga the event that it waits for."""

import argparse

import msgspec

from sluice.actors import audit_results
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import NUL, unfit
from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.answers import check_event
from sluice.ledger.reads import job_details
from sluice.ledger.sagas.events import EventOutcome
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.selection import name_target
from sluice.ops.operations.context import whoami
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.text import command


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="SUBMISSION | APP", help="a paused submission's id, an app, or APP/KEY"
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="with an app: key of the waiting saga")
    parser.add_argument(
        "--event",
        metavar="NAME",
        type=_event,
        help="event that has happened; default: continue without an event",
    )
    parser.add_argument(
        "--payload", metavar="JSON", type=_payload, help="data of the event for the steps; default: none"
    )
    parser.add_argument(
        "--id",
        metavar="ID",
        help="id of the event; a repeated id changes nothing for the same job; default: a new id",
    )


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    name_target(installation, options)
    if options.key is not None:
        return _resume_job(context, installation, options.target, options.key, options)
    if any(word is not None for word in (options.event, options.payload, options.id)):
        raise BadRequest(
            f"{options.target} is a submission, or an app without a key; events are for one saga.",
            advice="Name the saga, like sluice resume APP KEY --event NAME.",
        )
    client = installation.doing("resume", {"submission": options.target}, audit_results.resumed)
    let_go = client.resume(options.target)
    go = "1 job continues" if let_go == 1 else f"{let_go} jobs continue"
    context.output.answer(
        {"resumed": options.target, "let_go": let_go},
        Paragraph(f"Submission {options.target} is resumed; {go}."),
    )
    return DONE


def _resume_job(
    context: CommandContext, installation: Installation, app: str, key: str, options: Options
) -> int:
    name, unknown = meant_job(context, installation, app, key)
    before = installation.ask(lambda tx: job_details.job(tx, name))
    if before is None and unknown:
        raise unknown
    # An unknown key is more likely mistyped than early. So the event is not kept for a job that does not exist.
    about = {"app": name.app, "key": name.key, "event": options.event}
    became = installation.doing("resume", about, audit_results.heard).resume_job(
        name, options.event, payload=options.payload, by=whoami(), id=options.id, may_be_early=False
    )
    document = {"app": name.app, "key": name.key, "event": options.event, "became": became}
    context.output.answer(document, Paragraph(_told(name, options.event, became, before)))
    return DONE


def _told(name: JobName, event: str | None, became: EventOutcome, before: job_details.JobRow | None) -> str:
    what = event if event is not None else "the request to continue"
    if became is EventOutcome.RESUMED:
        return f"{name} continues{f', because {event} has come' if event is not None else ''}."
    if became is EventOutcome.REPEATED:
        return f"{name} has already received the event with this id; nothing changes."
    awaited = before.event if before else None
    waits = f"waits for {awaited}" if awaited is not None else "does not wait for it"
    return f"{name} {waits}; {what} is kept until it does. `{command('saga show', name)}` shows its position."


def _event(text: str) -> str:
    try:
        return check_event(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _payload(text: str) -> JSON:
    if reason := unfit(text.encode()):
        raise argparse.ArgumentTypeError(reason)
    try:
        payload: JSON = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise argparse.ArgumentTypeError(
            f'{error}; write JSON, like {{"by": "ana"}}, or "\\"a text\\"" in quotes of its own'
        ) from None
    if NUL in msgspec.json.encode(payload):
        raise argparse.ArgumentTypeError("it contains a NUL character, which the ledger cannot store")
    return payload
