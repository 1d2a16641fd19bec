"""What a plan comes to by what the ledger knows. Given facts take its place (see ``ops.facts``)."""

from collections.abc import Mapping

from jobs.ref import JobName
from jobs.states import State
from jobs.submission import Submission
from ledger import judging, planning
from ops.cli.desk import Desk
from ops.cli.installation import Installation
from planner.preview import Preview, preview


def known_preview(desk: Desk, submission: Submission) -> tuple[Preview, Mapping[str, float]]:
    """The preview, and what one job of each of its apps takes, where that is known."""
    installation = Installation(desk)

    def states(names: list[JobName]) -> Mapping[JobName, State]:
        known = installation.ask(lambda tx: planning.find(tx, names))
        return {name: job.state for name, job in known.items()}

    found = preview(desk.catalogue, submission, states)
    apps = sorted({job.name.app for job in found.jobs})
    return found, installation.ask(lambda tx: judging.paces_s(tx, apps))
