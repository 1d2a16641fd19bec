"""Command-line options of a submission, one for each of its fields."""

import argparse
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import unfit
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.text.units import delay_s, duration_s, instant, past
from sluice.ops.cli.command import WAITED_LONG_ENOUGH, Options


def submission_options(parser: argparse.ArgumentParser) -> None:
    _job_options(parser)
    _range_options(parser)
    _circumstance_options(parser)


def _job_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the jobs."""
    parser.add_argument("app", metavar="APP", help="app of the jobs, or APP/KEY for one job")
    parser.add_argument(
        "key",
        nargs="*",
        default=[],
        help="keys of the jobs; default: every job that the definition enumerates",
    )
    parser.add_argument(
        "--keys-from",
        metavar="FILE",
        help="read more keys from this file, one per line; - is standard input; default: none",
    )
    parser.add_argument(
        "--work-ids", metavar="IDS", help="work IDs, for apps keyed by chunk, like 1-3,7; default: none"
    )


def _circumstance_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the way in which the jobs run."""
    parser.add_argument(
        "--kwargs", metavar="JSON", type=mapping, default={}, help="arguments of the jobs; default: none"
    )
    parser.add_argument(
        "--id", help="id of the submission; the same id again is the same submission; default: a new id"
    )
    parser.add_argument(
        "--after",
        action="append",
        metavar="APP/KEY",
        help="with work IDs: wait for this job, and for no dependencies; may be repeated; default: none",
    )
    parser.add_argument(
        "--mode",
        help="mode, for apps with modes; saga: if the submission fails, undo its finished jobs; default: none",
    )
    parser.add_argument(
        "--branch", help="use the definitions of this branch; default: the loaded definitions"
    )
    parser.add_argument("--user", help="user to record with the submission; default: none")
    parser.add_argument(
        "--traceparent", metavar="W3C", help="trace context of the submission; default: TRACEPARENT"
    )
    parser.add_argument(
        "--rerun",
        choices=("job", "downstream"),
        help="run finished jobs again; downstream: also the jobs after them; default: only unfinished jobs run",
    )
    parser.add_argument(
        "--push",
        choices=("all", "wanted"),
        default="all",
        help="all: plan the children too; wanted: do not; default: all",
    )
    _policy_options(parser)


def _range_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--start", metavar="P", help="first partition, or first day of keys with one date; default: none"
    )
    parser.add_argument("--end", metavar="P", help="last partition, or last day; default: none")
    by_option(parser, "with a range: only these slices of the app's table; default: all slices")


def by_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that selects slices of a table with a second dimension."""
    parser.add_argument("--by", action="append", metavar="NAME=VALUE", help=f"{what}; may be repeated")


def by_of(options: Options) -> dict[str, tuple[str, ...]] | None:
    """Return the selected values by the name of the dimension, or None without the option."""
    if options.by is None:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for text in options.by:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadRequest(f"--by {text} names no value.", advice="Write it like --by store=graz.")
        found[name] = (*found.get(name, ()), value)
    return found


def wait_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="wait for the end and show the progress")
    wait_timeout_option(parser, "--wait, for at most this long")


def wait_timeout_option(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--wait-timeout",
        type=duration_option,
        metavar="DURATION",
        help=f"{what}; then exit with code {WAITED_LONG_ENOUGH}, and the submission continues; default: no limit",
    )


def is_waiting(options: Options) -> bool:
    """Return whether the command waits for the end of the submission."""
    return options.wait or options.wait_timeout is not None


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
            by=by_of(options),
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


def start_option(text: str) -> str:
    """Parse a time, or a delay with a unit, and return it in the format of submissions."""
    return text if delay_s(text) is not None else moment_option(text)


def duration_option(text: str) -> float:
    """Parse a duration and return its seconds."""
    try:
        return duration_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def past_option(text: str) -> datetime:
    """Parse a time, or a duration before now."""
    try:
        return past(text, datetime.now(UTC))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_OF_APP = "default: as defined for the app"
#: Policy options that are also options of the command line, with their parser, metavar and help text.
_POLICY: dict[str, tuple[Callable[[str], object], str, str]] = {
    "max_fails": (int, "N", "failed rounds after which a job runs again"),
    "max_timeouts": (
        int,
        "N",
        "timed-out rounds after which a job runs again",
    ),
    "max_losses": (int, "N", "lost workers after which a job runs again"),
    "timeout": (str, "DURATION", "maximum duration of a round"),
    "start_after": (
        start_option,
        "T",
        "start no job before this time, or this long after planning: 30s",
    ),
    "end_before": (
        moment_option,
        "T",
        "expire jobs that have not ended by this time",
    ),
    "due_within": (
        str,
        "DURATION",
        "notify receivers if a job has not ended within this time: 4h",
    ),
    "random_start_offset": (
        str,
        "DURATION",
        "delay each start by a random time, at most this long",
    ),
    "priority": (int, "N", "run jobs with a higher number first"),
    "concurrency": (
        int,
        "N",
        "maximum number of jobs of the app that run at once",
    ),
    "pull": (
        str,
        "first|all",
        "request the first possible dependency group, or all at once",
    ),
    "fail_on": (
        str,
        "exit|stderr|either",
        "fail a round for its exit code, for text on stderr, or for either",
    ),
    "archive": (
        str,
        "auto|manual",
        "manual: keep finished jobs uncollected until they are archived",
    ),
}
#: Options of ``debug`` that make steps fail, with the metavar of the step and the help text.
_FAILING = {
    "fail_at": ("INDEX", "fail the step with this index, counted from 0"),
    "fail_do": ("STEP", "fail the do of the step with this name"),
    "fail_undo": ("STEP", "fail the undo of the step with this name"),
}


def _policy_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("policy options")
    group.add_argument(
        "--policy",
        metavar="JSON",
        type=mapping,
        default={},
        help="several policy options at once; default: none",
    )
    for word, (kind, metavar, help_) in _POLICY.items():
        told = f"{help_}; {_OF_APP}"
        group.add_argument(f"--{word.replace('_', '-')}", dest=word, type=kind, metavar=metavar, help=told)
    _debug_options(parser)


def _debug_options(parser: argparse.ArgumentParser) -> None:
    """Add each option of ``debug`` by itself, because ``--debug`` is an option of every command."""
    group = parser.add_argument_group(
        "debug options of a saga, to try out its undo: steps run and are then treated as failed"
    )
    group.add_argument(
        "--restart-each-step", action="store_true", help="continue after each step as after a crash"
    )
    for word, (step, help_) in _FAILING.items():
        group.add_argument(
            f"--{word.replace('_', '-')}",
            dest=word,
            action="append",
            default=[],
            type=_answer,
            metavar=f"{step}=retry|fatal",
            help=f"{help_}; may be repeated; default: none",
        )
    group.add_argument("--fail-last", action="store_true", help="fail the do of the last step")


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
        raise argparse.ArgumentTypeError(f"{text!r} has no result for the step; write it like 1=fatal")
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
