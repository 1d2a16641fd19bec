"""Commands: ``bash_cmd``, run by ``bash -c``, or by ``sh -c`` if bash is not installed."""

import os
import shutil
import threading

from sluice.jobs.model.job import Assignment, Outcome
from sluice.jobs.runners.command.environment import command_environment
from sluice.jobs.runners.command.placeholders import fill, values_of
from sluice.jobs.runners.output_blobs import with_whole
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.process.process import run_group
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_outcome import failed, of_command
from sluice.jobs.runners.stop_signal import Limits


class BashRunner:
    """Runner of an app's command. The command itself interprets its options: see ``placeholders``."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def run(self, assignment: Assignment, *, stop: threading.Event, **_: object) -> Outcome:
        """Run the command. The callbacks are ignored because a command cannot call them."""
        limits = Limits(stop, assignment.timeout_s)
        if not assignment.app.bash_cmd:
            return failed(f"{assignment.name.app} has no bash_cmd to run.")
        try:
            exit_ = run_group(
                self._stores.sandbox.around(_command(assignment, assignment.app.bash_cmd)),
                limits,
                echo=assignment.echo,
                whole=assignment.policy.keep_output,
                grace_s_max=self._stores.grace_s_max,
            )
        except (OSError, ValueError) as error:
            return failed(f"The command could not be started: {error}.")
        return with_whole(of_command(exit_, assignment), exit_, assignment, self._stores.blobs)


def _command(assignment: Assignment, bash_cmd: str) -> ProcessCommand:
    """Return the command to start. ``--`` prevents the shell from reading a command that begins with ``-`` as an
    option.
    """
    shell = shutil.which("bash") or "/bin/sh"
    return ProcessCommand(
        argv=(shell, "-c", "--", fill(bash_cmd, values_of(assignment))),
        env=command_environment(assignment, assignment.policy, os.environ),
        cwd=assignment.policy.cwd,
        allowance=assignment.policy.limits,
    )
