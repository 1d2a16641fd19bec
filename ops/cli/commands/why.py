"""``sluice why``: why a job is in its state, what it waits for, and what would help."""

from collections.abc import Iterator
from datetime import datetime

from broker.messages import CONTROL
from jobs.ref import JobName
from ledger.reads.obstacles import obstacles
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.meant import meant_job
from ops.cli.naming import job_options
from ops.cli.page import Block, Line, Table, colour
from ops.times import ago
from ops.why.answer import Answer
from ops.why.explain import explain
from planner.keyspaces import keyspace_of

#: What stands before each kind of thing; before all else, that it is waited for.
_LEADS = {"cause": "because of", "lost": "lost:", "refusal": "but", "root": "in the end, for"}
#: What will not come to any good by itself.
_BAD = {"cause", "lost", "refusal"}

options = job_options


def run(desk: Desk, options: Options) -> int:
    """That there is no such job is an answer, and so is that there can be none. What cannot be a job's name is an
    error."""
    installation = Installation(desk)
    name, unknown = meant_job(desk, installation, options.app, options.key)
    facts = installation.ask(lambda tx: obstacles(tx, name, control=CONTROL, spellings=[options.key]))
    if facts.job is None and unknown:
        raise unknown
    refusal = unknown.what.rstrip(".") if unknown else _refusal(desk, name)
    answer = explain(name, facts, refusal=refusal)
    desk.output.answer(answer, *_page(answer, facts.now))
    return DONE


def _refusal(desk: Desk, name: JobName) -> str:
    """What submit would have against it, as far as the definitions say so by themselves."""
    if not desk.settings.apps:
        return ""
    if name.app not in desk.catalogue:
        return ""  # It stands for a partition that others bring.
    app = desk.catalogue[name.app]
    is_unmatched = keyspace_of(app, desk.catalogue).unmatched(app, name.key)
    return f"{name.key} fits none of the dependency groups of {name.app}" if is_unmatched else ""


def _page(answer: Answer, now: datetime) -> Iterator[Block]:
    yield Line(f"{answer.because}.", f"bold {colour(answer.state)}" if answer.state else "bold")
    if answer.since:
        yield Line(f"since {ago(answer.since, now)}", indent=2)
    for each in answer.waits_for:
        since = f", since {ago(each.since, now)}" if each.since else ""
        style = "red" if each.kind in _BAD else "yellow"
        yield Line(f"{_LEADS.get(each.kind, 'waits for')} {each.what}{since}", style, indent=2)
    yield Table(("", ""), [(each.command, f"# {each.effect}") for each in answer.remedies])
