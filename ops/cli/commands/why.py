"""``sluice why``: why a job is in its state, what it waits for, and what would help."""

from broker.messages import PLANNER
from ledger.reads.obstacles import obstacles
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.naming import job_options, named_job
from ops.cli.page import Line
from ops.times import moment, span
from ops.why.explain import explain

options = job_options


def run(desk: Desk, options: Options) -> int:
    name = named_job(desk, options.app, options.key)
    facts = desk.ask(lambda tx: obstacles(tx, name, planner_queue=PLANNER))
    answer = explain(name, facts)

    def since(at: object) -> str:
        return f", since {moment(at)} UTC ({span((facts.now - at).total_seconds())})" if at else ""

    desk.output.answer(
        answer,
        Line(f"{answer.because}{since(answer.since)}."),
        *(Line(f"waits for {each.what}{since(each.since)}", indent=2) for each in answer.waits_for),
        *([Line(f"to do: {answer.remedy}", "bold", indent=2)] if answer.remedy else []),
    )
    return 0
