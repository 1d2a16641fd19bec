"""All errors that Sluice raises on purpose.

    SluiceError
    ├── DefinitionError     the definitions cannot be used; carries every fault that was found
    ├── BadRequest          a submission, key or option that cannot be carried out
    │   ├── UnknownApp
    │   ├── BadKey
    │   └── Conflict       the id of a submission belongs to a different submission
    ├── JobFailed           a job whose result was requested has ended without success
    ├── BadSetting          a variable or option has a wrong value
    ├── BadMessage          a message that cannot be read; it goes to the dead-letter queue
    ├── Unreachable         the ledger or the broker does not answer; a retry may help
    │   └── ForeignBroker   the broker belongs to another installation
    ├── SchemaMismatch      the ledger's schema is older or newer than this code supports
    └── LedgerBusy          another process holds the affected rows; nothing is half done, and a retry helps

Expected outcomes (a refused transition, a failed job) are values, not errors.
"""

from typing import Protocol

from msgspec import Struct


class SluiceError(Exception):
    """Base class: the error (``what``), its place (``where``) and the remedy (``advice``).

    ``where`` and ``advice`` are one line each, or empty.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.advice = advice

    @property
    def reason(self) -> str:
        """The error and its remedy as one text, which the ledger stores."""
        return f"{self.what} {self.advice}".strip()


class Fault(Struct, frozen=True, order=True):
    """One fault of the definitions: its source, its app and a description."""

    source: str
    app: str
    what: str

    def __str__(self) -> str:
        place = f"{self.source}: {self.app}" if self.app else self.source
        return f"{place}: {self.what}"


class DefinitionError(SluiceError):
    """Raised with all faults of a catalogue together, so that the user can fix a file in one go."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        plural = "fault" if len(faults) == 1 else "faults"
        super().__init__(
            f"The definitions have {len(faults)} {plural}:\n" + "\n".join(f"  {fault}" for fault in faults),
            advice="Fix the definitions; nothing was started.",
        )
        self.faults = faults


class BadRequest(SluiceError):
    """Raised for a request that cannot be carried out. A retry will not help."""


class UnknownApp(BadRequest):
    """Raised if the catalogue has no app of this name."""


class BadKey(BadRequest):
    """Raised for a key that does not fit its app."""


class Conflict(BadRequest):
    """Raised if the id of a submission belongs to a submission with different content."""


class JobFailed(SluiceError):
    """Raised if the job that a caller waits for has ended without success."""

    exit_code = 1

    def __init__(self, app: str, key: str, state: str, error: str | None) -> None:
        super().__init__(f"{app}/{key} is {state}" + (f": {error}" if error else "."))
        #: Name of the app.
        self.app = app
        #: Key of the job.
        self.key = key
        #: State of the job, or of its submission if the job was not planned: ``refused`` or ``cancelled``.
        self.state = state
        #: Error of the last round, or the reason of the refusal.
        self.error = error


class BadSetting(SluiceError):
    """Raised for a setting with an invalid value. The error names the variable, the value and an example."""


class BadMessage(SluiceError):
    """Raised for a message that no retry will make readable."""


class MissedWork(Protocol):
    """Counter of the work that an outage has prevented (``jobs.observe.outages``)."""

    def missed(self, what: str, count: int, error: SluiceError) -> None: ...


class Unreachable(SluiceError):
    """Raised if a server does not answer at present."""

    exit_code = 3
    #: Log of the outages of the server, if it has one.
    outages: MissedWork | None = None
    #: True if the server answers, and refuses this process until a person corrects something.
    needs_action = False


class ForeignBroker(Unreachable):
    """Raised if the virtual host or Redis database belongs to another installation, so that no message of ours may go
    there.

    ``found`` is the identifier of that installation.
    """

    exit_code = 2
    needs_action = True

    def __init__(self, found: str, what: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(what, where=where, advice=advice)
        self.found = found


class SchemaMismatch(SluiceError):
    """Raised if the code does not support the ledger's schema."""

    exit_code = 3


class LedgerBusy(SluiceError):
    """Raised if another process holds the rows to change, or works where no process may work. Nothing is half done."""

    exit_code = 3
