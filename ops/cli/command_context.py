"""Settings, definitions and output for every command."""

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.logs import set_up_logs
from sluice.ops.cli.output import Output
from sluice.ops.operations.context import OperatorContext


class CommandContext(OperatorContext):
    def __init__(
        self, settings: Settings, output: Output, *, verbose: bool, may_make_ledger: bool = True
    ) -> None:
        super().__init__(settings, may_make_ledger=may_make_ledger)
        self.output = output
        set_up_logs(settings.log, verbose=verbose)
