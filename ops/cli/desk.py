"""What every command has to hand: a desk, and somewhere to answer."""

from actors.logs import set_up_logs
from actors.settings import Settings
from ops.cli.output import Output
from ops.desk.desk import Desk


class CommandDesk(Desk):
    def __init__(self, settings: Settings, output: Output, *, verbose: bool) -> None:
        super().__init__(settings)
        self.output = output
        set_up_logs(settings.log, verbose=verbose)
