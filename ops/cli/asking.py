"""The options that say what is wanted: the words of a submission, each by its own name."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from jobs.errors import BadRequest
from jobs.submission import JSON, Submission
from ops.cli.command import Options

#: Words of the policy that stand on the command line as options of their own.
_POLICY = {
    "max_fails": int,
    "max_timeouts": int,
    "max_losses": int,
    "timeout": str,
    "start_after": str,
    "end_before": str,
    "priority": int,
    "fail_on": str,
}


def submission_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app")
    parser.add_argument("key", nargs="*", help="none: every job the definition enumerates")
    parser.add_argument("--keys-from", metavar="FILE", help="one key a line; - is standard input")
    parser.add_argument("--work-ids", metavar="IDS", help="for apps keyed by chunk: 1-3,7")
    parser.add_argument("--start", metavar="P", help="for apps keyed by partition: the first")
    parser.add_argument("--end", metavar="P", help="for apps keyed by partition: the last")
    parser.add_argument("--kwargs", metavar="JSON", type=_mapping, default={}, help="arguments for the jobs")
    parser.add_argument("--id", help="the same id again is the same submission")
    parser.add_argument("--mode")
    parser.add_argument("--branch")
    parser.add_argument("--user")
    parser.add_argument("--rerun", choices=("job", "downstream"), help="run again what has ended")
    parser.add_argument("--push", choices=("all", "wanted"), default="all", help="plan the children too, or not")
    parser.add_argument("--policy", metavar="JSON", type=_mapping, default={}, help="any policy words at once")
    for word, kind in _POLICY.items():
        parser.add_argument(f"--{word.replace('_', '-')}", dest=word, type=kind, metavar=word.upper())


def submission_of(options: Options) -> Submission:
    """What the options ask for. BadRequest where they contradict each other."""
    keys = tuple(_keys(options))
    try:
        return Submission(
            app=options.app,
            keys=keys or None,
            work_ids=options.work_ids,
            start=options.start,
            end=options.end,
            id=options.id,
            kwargs=options.kwargs,
            mode=options.mode,
            branch=options.branch,
            user=options.user,
            rerun=options.rerun,
            push=options.push,
            policy=_policy(options),
        )
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _keys(options: Options) -> Iterator[str]:
    yield from options.key
    if options.keys_from is None:
        return
    try:
        text = sys.stdin.read() if options.keys_from == "-" else Path(options.keys_from).read_text()
    except OSError as error:
        raise BadRequest(f"The keys cannot be read: {error}") from None
    yield from filter(None, map(str.strip, text.splitlines()))


def _policy(options: Options) -> dict[str, JSON]:
    given = {word: getattr(options, word) for word in _POLICY}
    return options.policy | {word: value for word, value in given.items() if value is not None}


def _mapping(text: str) -> dict[str, JSON]:
    try:
        return msgspec.json.decode(text, type=dict[str, JSON])
    except msgspec.MsgspecError as error:
        raise argparse.ArgumentTypeError(f"a JSON object is wanted: {error}") from None
