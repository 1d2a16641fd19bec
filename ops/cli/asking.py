"""Command-line options of a submission, one for each of its fields."""

import argparse
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from sluice.jobs.durations import instant, past
from sluice.jobs.errors import BadRequest
from sluice.jobs.ref import JobName
from sluice.jobs.request_limits import unfit
from sluice.jobs.submission import JSON, Submission
from sluice.ops.cli.command import Options


def submission_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app")
    parser.add_argument("key", nargs="*", help="none: every job that the definition enumerates")
    parser.add_argument("--keys-from", metavar="FILE", help="one key a line; - is standard input")
    parser.add_argument("--work-ids", metavar="IDS", help="for apps keyed by chunk: 1-3,7")
    parser.add_argument("--start", metavar="P", help="for apps keyed by partition: the first")
    parser.add_argument("--end", metavar="P", help="for apps keyed by partition: the last")
    parser.add_argument("--kwargs", metavar="JSON", type=mapping, default={}, help="arguments for the jobs")
    parser.add_argument("--id", help="the same id again is the same submission")
    parser.add_argument(
        "--after",
        action="append",
        metavar="APP/KEY",
        help="for work IDs: wait for this job, and for no dependencies",
    )
    parser.add_argument("--mode", help="for apps with modes: which; saga: undo what it has done if it fails")
    parser.add_argument("--branch", help="for apps with versions: whose")
    parser.add_argument("--user", help="who is asking")
    parser.add_argument(
        "--traceparent", metavar="W3C", help="where it belongs in a trace; else TRACEPARENT says so"
    )
    parser.add_argument("--rerun", choices=("job", "downstream"), help="run again what has ended")
    parser.add_argument(
        "--push", choices=("all", "wanted"), default="all", help="all: plan the children too, the default"
    )
    _policy_options(parser)


def submission_of(options: Options) -> Submission:
    """Return the submission that the options describe. BadRequest if they contradict each other."""
    keys = tuple(_keys(options))
    try:
        return Submission(
            app=options.app,
            key=keys[0] if len(keys) == 1 else None,
            keys=keys if len(keys) > 1 else None,
            work_ids=options.work_ids,
            start=options.start,
            end=options.end,
            id=options.id,
            kwargs=options.kwargs,
            mode=options.mode,
            branch=options.branch,
            user=options.user,
            traceparent=options.traceparent,
            rerun=options.rerun,
            push=options.push,
            policy=_policy(options),
            after=None if options.after is None else tuple(map(_named, options.after)),
        )
    except ValueError as error:
        raise BadRequest(f"The options contradict each other: {error}.", where=options.app) from None


def mapping(text: str) -> dict[str, JSON]:
    if reason := unfit(text.encode()):
        raise argparse.ArgumentTypeError(reason)
    try:
        words: dict[str, JSON] = msgspec.json.decode(text, type=dict[str, JSON])
    except msgspec.MsgspecError as error:
        raise argparse.ArgumentTypeError(f'{error}; write a JSON object like {{"name": 1}}') from None
    return words


def moment_option(text: str) -> str:
    """Parse a time and return it in the format of submissions."""
    try:
        return instant(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def past_option(text: str) -> datetime:
    """Parse a time, or a duration before now."""
    try:
        return past(text, datetime.now(UTC))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


#: Policy options that are also options of the command line, with their parser and metavar.
_POLICY: dict[str, tuple[Callable[[str], object], str]] = {
    "max_fails": (int, "N"),
    "max_timeouts": (int, "N"),
    "max_losses": (int, "N"),
    "timeout": (str, "DURATION"),
    "start_after": (moment_option, "T"),
    "end_before": (moment_option, "T"),
    "random_start_offset": (str, "DURATION"),
    "priority": (int, "N"),
    "concurrency": (int, "N"),
    "pull": (str, "first|all"),
    "fail_on": (str, "exit|stderr|either"),
    "archive": (str, "auto|manual"),
}
#: Options of ``debug`` that make steps fail, with the metavar of the step.
_FAILING = {"fail_at": "INDEX", "fail_do": "STEP", "fail_undo": "STEP"}


def _policy_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("policy, instead of the app's own")
    group.add_argument("--policy", metavar="JSON", type=mapping, default={}, help="any of its words at once")
    for word, (kind, metavar) in _POLICY.items():
        group.add_argument(f"--{word.replace('_', '-')}", dest=word, type=kind, metavar=metavar)
    _debug_options(parser)


def _debug_options(parser: argparse.ArgumentParser) -> None:
    """Add each option of ``debug`` by itself, because ``--debug`` is an option of every command."""
    group = parser.add_argument_group("for trying out a saga: its steps run, and then have failed")
    group.add_argument(
        "--restart-each-step", action="store_true", help="go on as if after a crash, each time"
    )
    for word, what in _FAILING.items():
        group.add_argument(
            f"--{word.replace('_', '-')}",
            dest=word,
            action="append",
            default=[],
            type=_answer,
            metavar=f"{what}=retry|fatal",
        )
    group.add_argument("--fail-last", action="store_true", help="the do of the last step")


def _policy(options: Options) -> dict[str, JSON]:
    given = {word: getattr(options, word) for word in _POLICY}
    given["debug"] = _debug(options) or None
    return {**options.policy, **{word: value for word, value in given.items() if value is not None}}


def _debug(options: Options) -> dict[str, JSON]:
    given = {word: dict(getattr(options, word)) for word in _FAILING}
    switched = {word: getattr(options, word) for word in ("restart_each_step", "fail_last")}
    return {word: value for word, value in {**given, **switched}.items() if value}


def _answer(text: str) -> tuple[str, str]:
    step, equals, answer = text.rpartition("=")
    if not (step and equals and answer):
        raise argparse.ArgumentTypeError(f"{text!r} does not say what a step answers; write 1=fatal")
    return step, answer


def _named(text: str) -> JobName:
    app, slash, key = text.partition("/")
    if not (app and slash and key):
        raise ValueError(f"--after {text!r} names no job; write its app, a slash and its key")
    return JobName(app, key)


def _keys(options: Options) -> Iterator[str]:
    yield from options.key
    if options.keys_from is None:
        return
    try:
        text = sys.stdin.read() if options.keys_from == "-" else Path(options.keys_from).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"The keys cannot be read: {error}.", where=options.keys_from) from None
    keys = list(filter(None, map(str.strip, text.splitlines())))
    if not keys:
        # Without keys, the submission would request every job that the app enumerates.
        raise BadRequest("There are no keys in the file.", where=options.keys_from)
    yield from keys
