"""Settings, definitions and output for every command."""

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.logs import logged_crashes, set_up_logs
from sluice.jobs.errors import BadRequest
from sluice.ops.cli.output import Output
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.context import OperatorContext


class CommandContext(OperatorContext):
    def __init__(
        self, settings: Settings, output: Output, *, verbose: bool, may_make_ledger: bool = True
    ) -> None:
        super().__init__(settings, may_make_ledger=may_make_ledger)
        self.output = output
        set_up_logs(settings.log, verbose=verbose)

    def confirm(self, question: str, *, is_confirmed: bool) -> None:
        """Ask before an act that cannot be undone. BadRequest if the answer is no. Programs are not asked."""
        if not is_confirmed and self.output.can_ask and not self.output.ask(question):
            raise BadRequest("Nothing was changed.", advice="Answer y, or add --yes.")

    def note_new_ledger(self) -> None:
        self.output.note(
            Paragraph(f"Creating an embedded Postgres in {self.settings.home} …", "bright_black")
        )

    def log_as_service(self) -> None:
        """Log everything from now on, because this command runs for long. If the log is JSON, it is also the only
        output, up to the last word of the process."""
        set_up_logs(self.settings.log, verbose=True)
        if self.settings.log == "json":
            self.output.is_quiet = True
            self.keep(logged_crashes())
