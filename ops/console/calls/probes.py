"""Probes of the console, for load balancers and Kubernetes. They need no token and reveal nothing else."""

from http import HTTPStatus

from msgspec import Struct

from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import Response, problem
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.observe.ledger_probe import ANSWER_S


class ProbeResult(Struct, frozen=True, kw_only=True):
    status: str = "ok"


def health(_: ConsoleContext, __: CallArguments[NoParameters, NoParameters]) -> ProbeResult:
    """Return that this process answers. It does not read the ledger: a restart would not bring that back."""
    return ProbeResult()


def readiness(
    console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]
) -> ProbeResult | Response:
    """Return whether the ledger answers. The reason contains no address, because any sender may read it."""
    if console.ledger_probe.answers():
        return ProbeResult()
    return problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"The ledger has not answered within {ANSWER_S:g} s.",
        "See the log of the console, and docs/runbook.md#ledger-unreachable.",
    )


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        call=health,
        summary="Liveness: 200 as long as this process answers",
        answers=ProbeResult,
        role=None,
        bounded=True,
    ),
    Route(
        method="GET",
        path="/readyz",
        call=readiness,
        summary=f"Readiness: 200 if the ledger answers within {ANSWER_S:g} s, and else 503",
        answers=ProbeResult,
        role=None,
        bounded=True,
    ),
)
