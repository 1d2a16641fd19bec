"""``sluice why``: why a job is in its state, what it waits for, and what would help."""

from collections.abc import Iterator
from datetime import datetime

from sluice.ops.cli.command import Options
from sluice.ops.cli.desk import CommandDesk
from sluice.ops.cli.exits import DONE
from sluice.ops.cli.page import Block, Line, Table, colour
from sluice.ops.cli.parsing import job_options
from sluice.ops.desk.installation import Installation
from sluice.ops.desk.reasons import reasons
from sluice.ops.times import ago
from sluice.ops.why.answer import Answer

#: What stands before each kind of thing; before all else, that it is waited for.
_LEADS = {"cause": "because of", "lost": "lost:", "refusal": "but", "root": "in the end, for"}
#: What will not come to any good by itself.
_BAD = {"cause", "lost", "refusal"}

options = job_options


def run(desk: CommandDesk, options: Options) -> int:
    """That there is no such job is an answer, and so is that there can be none. What cannot be a job's name is an
    error."""
    answer, now = reasons(desk, Installation(desk), options.app, options.key)
    desk.output.answer(answer, *_page(answer, now))
    return DONE


def _page(answer: Answer, now: datetime) -> Iterator[Block]:
    yield Line(f"{answer.because}.", f"bold {colour(answer.state)}" if answer.state else "bold")
    if answer.since:
        yield Line(f"since {ago(answer.since, now)}", indent=2)
    for each in answer.waits_for:
        since = f", since {ago(each.since, now)}" if each.since else ""
        style = "red" if each.kind in _BAD else "yellow"
        yield Line(f"{_LEADS.get(each.kind, 'waits for')} {each.what}{since}", style, indent=2)
    yield Table(("", ""), [(each.command, f"# {each.effect}") for each in answer.remedies])
