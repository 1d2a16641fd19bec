"""Delivery of an event to a command, which runs like the command of a job: in a group and a sandbox of its own.

The event is JSON on standard input, and in the variables of ``variables``. Exit code 0 accepts the event. No value of
the event becomes part of the command's text.
"""

import shutil
import tempfile
import threading
from collections.abc import Mapping
from typing import Final

from msgspec import structs

from sluice.jobs.notifications.body import EventBody, encoded
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.runners.command.environment import basic_environment
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.process.process import Exit, run_group
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.jobs.runners.run_outcome import violent_end
from sluice.jobs.runners.stop_signal import Halt, Limits
from sluice.jobs.text.redaction import masked

#: Seconds after which a command is ended. With the seconds for its end, it is shorter than the lease of a delivery.
TIMEOUT_S: Final = 30.0
#: Characters of the command's output that an error contains. These are the last ones, which usually give the reason.
OUTPUT_MAX: Final = 1500

#: Names of variables that are not the name of the field.
_NAMES: Mapping[str, str] = {"id": "EVENT_ID", "key": "JOB"}


def run(
    command: str,
    event: EventBody,
    sandbox: Sandbox,
    stop: threading.Event,
    worker: Mapping[str, str],
    *,
    timeout_s: float = TIMEOUT_S,
) -> str | None:
    """Run the command. Return None if it has accepted the event, and else the reason, with the end of its output.

    ``worker`` is the environment of this process. The command gets the part of it that commands of jobs get.
    """
    # A file, because a pipe needs a thread that writes to it, and a command need not read its input.
    with tempfile.TemporaryFile() as body:
        body.write(encoded(event, "json"))
        body.seek(0)
        started = ProcessCommand(
            argv=(shutil.which("bash") or "/bin/sh", "-c", "--", command),
            env=basic_environment(worker) | variables(event),
            inherit=(body.fileno(),),
            stdin=body.fileno(),
        )
        try:
            exit_ = run_group(sandbox.around(started), Limits(stop, timeout_s))
        except (OSError, ValueError) as error:
            return f"the command could not be started: {error}"
    reason = _reason(exit_, timeout_s)
    return None if reason is None else reason + _output(exit_)


def variables(event: EventBody) -> dict[str, str]:
    """Return the event as variables. A field without a value is an empty text."""
    fields = structs.asdict(event).items()
    return {
        f"SLUICE_{_NAMES.get(name, name.upper())}": "" if value is None else str(value)
        for name, value in fields
    }


def _reason(exit_: Exit, timeout_s: float) -> str | None:
    if exit_.halt is Halt.STOPPED:
        return "the process that delivers was stopped"
    if exit_.halt is not None:
        return f"the command ran over its limit of {timeout_s:g} s"
    if how := violent_end(exit_, Allowance()):
        return f"the command failed: {how}"
    return f"the command exited with {exit_.status.code}" if exit_.status.code else None


def _output(exit_: Exit) -> str:
    parts = (exit_.stdout.text().strip(), exit_.stderr.text().strip())
    text = masked("\n".join(filter(None, parts)))
    return f": {text[-OUTPUT_MAX:]}" if text else ""
