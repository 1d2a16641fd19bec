"""Probes of the console, for load balancers and Kubernetes. They need no token and reveal nothing else."""

from msgspec import Struct

from sluice.jobs.errors import Unreachable
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import OPEN
from sluice.ops.observe.ledger_probe import ANSWER_S


class ProbeResult(Struct, frozen=True, kw_only=True):
    status: str = "ok"


def health(_: ConsoleContext, __: CallArguments[NoParameters, NoParameters]) -> ProbeResult:
    """Return that this process answers. It does not read the ledger: a restart would not bring that back."""
    return ProbeResult()


def readiness(console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]) -> ProbeResult:
    """Return that the ledger answers. Unreachable if it does not, without its address, because any sender may read the
    reason.
    """
    if not console.ledger_probe.answers():
        raise Unreachable(
            f"The ledger has not answered within {ANSWER_S:g} s.",
            advice="See the log of the console, and docs/runbook.md#ledger-unreachable.",
        )
    return ProbeResult()


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        call=health,
        summary="Liveness: 200 as long as this process answers",
        answers=ProbeResult,
        role=None,
        tenancy=OPEN,
        bounded=True,
    ),
    Route(
        method="GET",
        path="/readyz",
        call=readiness,
        summary=f"Readiness: 200 if the ledger answers within {ANSWER_S:g} s, and else 503",
        answers=ProbeResult,
        role=None,
        tenancy=OPEN,
        bounded=True,
    ),
)
