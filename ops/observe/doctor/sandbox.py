"""Findings about the sandbox that job processes would have if a worker were started here."""

from collections.abc import Iterator

from sluice.jobs.policy.sandbox_settings import SandboxLevel
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.ops.observe.doctor.finding import Finding, bad, ok, warn

ABOUT = "sandbox"


def judge(sandbox: Sandbox) -> Iterator[Finding]:
    """Yield the findings. The sandbox is tried out, because only this shows whether the kernel allows it."""
    fence = sandbox.fence
    lack = sandbox.lack()
    if lack is not None:
        yield bad(
            ABOUT,
            f"No process of a job can run, because it must run in bubblewrap and cannot: {lack}.",
            "Install bubblewrap 0.8 or newer and enable user namespaces, or set SLUICE_SANDBOX=limits.",
        )
    elif fence.level is SandboxLevel.OFF:
        yield warn(
            ABOUT,
            "It is off: a process of a job may get more rights than its worker has, and leave core dumps.",
            "Set SLUICE_SANDBOX=limits, unless jobs need sudo or the like.",
        )
    elif fence.level is SandboxLevel.LIMITS:
        yield ok(
            ABOUT,
            "limits: processes of jobs get no more rights than their worker, and can see all that it sees.",
        )
    else:
        network = "with" if fence.network else "without"
        also = f"; they may also write to {', '.join(fence.writable)}" if fence.writable else ""
        yield ok(ABOUT, f"bubblewrap: processes of jobs run in it, {network} network{also}.")
