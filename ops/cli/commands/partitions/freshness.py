"""Command ``sluice freshness``: show when an app last succeeded, by work ID or by key. ``sluice plan --facts`` accepts
its JSON.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids, short_text_of
from sluice.jobs.model.app import App
from sluice.ledger.database.connection import Tx
from sluice.ledger.keyspaces.freshness import FreshnessFacts
from sluice.ledger.reads.by_partition import last_successes
from sluice.ledger.reads.by_partition.last_successes import LastSuccess
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.cli.submission_options import past_option
from sluice.ops.documents.freshness_document import (
    Alike,
    FreshnessReport,
    alike,
    as_document,
    in_words,
    is_kept,
    never,
)
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_names import canonical
from sluice.ops.text import ago, moment, span

Ask = Callable[[Tx], FreshnessReport]

#: Default limits for work IDs and for keys. The work IDs of one chunk share a line, and each key has its own line.
IDS_TOLD, KEYS_TOLD = 10_000, 100


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="APP", help="name of the app, or APP/KEY")
    parser.add_argument("key", nargs="*", default=[], help="keys to show; default: all keys")
    parser.add_argument(
        "--work-ids",
        metavar="IDS",
        help="work IDs to show, for apps keyed by chunk, like 1-3,7; default: all",
    )
    parser.add_argument(
        "--older-than",
        type=past_option,
        metavar="T",
        help="only last successes before this; a time, or an age like 6h; default: all",
    )
    told = f"maximum number; default: {IDS_TOLD:,} work IDs or {KEYS_TOLD} keys"
    parser.add_argument("-n", "--limit", type=int, metavar="N", help=told)


def run(context: CommandContext, options: Options) -> int:
    app = context.catalogue.app(options.app)
    ask = _ids(app, app.chunking, options) if app.chunking else _keys(context, app, options)
    told = Installation(context).ask(ask)
    context.output.answer(as_document(app, told), *_page(app, told))
    if told.more:
        shown = _limit(options, app)
        context.output.note(
            Paragraph(f"There may be more; --limit shows more than {shown:,}.", "bright_black")
        )
    return DONE


def _ids(app: App, chunking: Chunking, options: Options) -> Ask:
    if options.key:
        raise BadRequest(
            f"{app.name} is keyed by chunk; its keys do not name work IDs.",
            where=app.name,
            advice="Name work IDs, like --work-ids 1-3,7, or none for the first ones.",
        )
    named = None if options.work_ids is None else _read_ids(options.work_ids, app)
    limit, before = _limit(options, app), options.older_than

    def ask(tx: Tx) -> FreshnessReport:
        past = FreshnessFacts(tx, tx.current_time(), number=0)
        kept = [
            freshness_scope
            for freshness_scope in last_successes.freshness_scopes(tx, app.name)
            if is_kept(freshness_scope, chunking)
        ]
        freshness_scopes = kept if kept or chunking.freshness_by else [""]
        if named is None:
            found, more = last_successes.ids(tx, app.name, freshness_scopes, before=before, limit=limit)
        else:
            found, more = last_successes.named_ids(tx, app.name, freshness_scopes, named, limit=limit)
        return FreshnessReport(
            now=past.now,
            successes=_older(found, before),
            runs={
                freshness_scope: at
                for freshness_scope in freshness_scopes
                if (at := past.last_run(app.name, freshness_scope))
            },
            never={} if named is None or more else never(named, freshness_scopes or [""], found),
            more=more or len(freshness_scopes) >= last_successes.MARKS_MAX,
        )

    return ask


def _keys(context: CommandContext, app: App, options: Options) -> Ask:
    if options.work_ids is not None:
        raise BadRequest(
            f"{app.name} has keys like {app.example_key}, and no work IDs.",
            where=app.name,
            advice=f"Name keys, like sluice freshness {app.name} {app.example_key}",
        )
    named = list(dict.fromkeys(canonical(context, app.name, key).key for key in options.key))
    limit, before = _limit(options, app), options.older_than

    def ask(tx: Tx) -> FreshnessReport:
        if named:
            found, more = last_successes.named_keys(tx, app.name, named)
        else:
            found, more = last_successes.keys(tx, app.name, before=before, limit=limit)
        absent = never(named, [""], found)
        return FreshnessReport(
            now=tx.current_time(), successes=_older(found, before), never=absent, more=more
        )

    return ask


def _limit(options: Options, app: App) -> int:
    if options.limit is not None:
        return max(int(options.limit), 0)
    return IDS_TOLD if app.chunking else KEYS_TOLD


def _older(found: Sequence[LastSuccess], before: datetime | None) -> list[LastSuccess]:
    return [each for each in found if before is None or each.at < before]


def _read_ids(text: str, app: App) -> tuple[WorkId, ...]:
    try:
        return parse_work_ids(text)
    except ValueError as error:
        raise BadRequest(f"The work IDs cannot be read: {error}.", where=app.name) from None


def _page(app: App, told: FreshnessReport) -> Iterator[Block]:
    by = app.chunking.freshness_by if app.chunking else ()
    name = "work IDs" if app.chunking else "key"
    rows = [
        (
            *([in_words(each.freshness_scope)] if by else []),
            words,
            moment(each.at) or "never",
            _age(each, told),
        )
        for each in alike(told)
        for words in ([short_text_of(each.names)] if app.chunking else each.names)
    ]
    headings = (*(["of"] if by else []), name, "last succeeded (UTC)", "age")
    yield Table(headings, rows, empty=f"No successes of {app.name} to show.")
    for freshness_scope, at in told.runs.items():
        of = f" of {in_words(freshness_scope)}" if freshness_scope else ""
        yield Paragraph(f"Its last submission{of} that succeeded ended {ago(at, told.now)}.", "bright_black")


def _age(each: Alike, told: FreshnessReport) -> str:
    return span((told.now - each.at).total_seconds()) if each.at else ""
