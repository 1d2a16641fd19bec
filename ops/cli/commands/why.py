"""``sluice why``: why a job is in its state, what it waits for, and what would help."""

from collections.abc import Iterator
from datetime import datetime

from broker.messages import PLANNER
from ledger.reads.obstacles import obstacles
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.naming import job_options, named_job
from ops.cli.page import Block, Line, Table
from ops.times import ago
from ops.why.answer import Answer
from ops.why.explain import explain

options = job_options


def run(desk: Desk, options: Options) -> int:
    name = named_job(desk, options.app, options.key)
    facts = Installation(desk).ask(lambda tx: obstacles(tx, name, planner_queue=PLANNER))
    answer = explain(name, facts)
    desk.output.answer(answer, *_page(answer, facts.now))
    return DONE


def _page(answer: Answer, now: datetime) -> Iterator[Block]:
    yield Line(f"{answer.because}.")
    if answer.since:
        yield Line(f"since {ago(answer.since, now)}", indent=2)
    for each in answer.waits_for:
        since = f", since {ago(each.since, now)}" if each.since else ""
        lead = "because of" if each.kind == "cause" else "waits for"
        yield Line(f"{lead} {each.what}{since}", "yellow", indent=2)
    yield Table(("", ""), [(each.command, f"# {each.effect}") for each in answer.remedies])
