"""Settings, definitions and output for every command."""

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.logs import logged_crashes, set_up_logs
from sluice.ops.cli.output import Output
from sluice.ops.operations.context import OperatorContext


class CommandContext(OperatorContext):
    def __init__(
        self, settings: Settings, output: Output, *, verbose: bool, may_make_ledger: bool = True
    ) -> None:
        super().__init__(settings, may_make_ledger=may_make_ledger)
        self.output = output
        set_up_logs(settings.log, verbose=verbose)

    def log_as_service(self) -> None:
        """Log everything from now on, because this command runs for long. If the log is JSON, it is also the only
        output, up to the last word of the process."""
        set_up_logs(self.settings.log, verbose=True)
        if self.settings.log == "json":
            self.output.is_quiet = True
            self.keep(logged_crashes())
