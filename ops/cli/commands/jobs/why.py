"""Command ``sluice why``: explain a job's state, with its obstacles and possible remedies.

The exit code is 2, as of ``sluice show``, if the ledger does not have the job and no submission is known that may still
request it.
"""

from collections.abc import Iterator
from datetime import datetime

from sluice.ops.cli.command import DONE, REFUSED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Block, Paragraph, Table, colour
from sluice.ops.cli.parser import job_options
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_answers import reasons
from sluice.ops.text import ago
from sluice.ops.why.answer import Explanation

#: Text before each kind of obstacle. Default: ``waits for``.
_LEADS = {"cause": "because of", "lost": "lost:", "refusal": "but", "root": "in the end waits for"}
#: Kinds of obstacles that do not go away by themselves.
_BAD = {"cause", "lost", "refusal"}

options = job_options


def run(context: CommandContext, options: Options) -> int:
    """Show the answer. A job that does not exist, or cannot exist, has an answer too. A text that cannot be the name of
    a job is an error.
    """
    answer, now = reasons(context, Installation(context), options.app, options.key)
    context.output.answer(answer, *_page(answer, now))
    return DONE if answer.state or any(each.kind != "refusal" for each in answer.waits_for) else REFUSED


def _page(answer: Explanation, now: datetime) -> Iterator[Block]:
    yield Paragraph(f"{answer.because}.", f"bold {colour(answer.state)}" if answer.state else "bold")
    if answer.since:
        yield Paragraph(f"since {ago(answer.since, now)}", indent=2)
    for each in answer.waits_for:
        since = f", since {ago(each.since, now)}" if each.since else ""
        style = "red" if each.kind in _BAD else "yellow"
        yield Paragraph(f"{_LEADS.get(each.kind, 'waits for')} {each.what}{since}", style, indent=2)
    yield Table(("", ""), [(each.command, f"# {each.effect}") for each in answer.remedies])
