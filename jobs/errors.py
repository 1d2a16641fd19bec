"""Everything Sluice raises on purpose.

    SluiceError
    ├── DefinitionError     the definitions cannot be used; carries every fault that was found
    ├── BadRequest          a submission, key or option that cannot be carried out
    │   ├── UnknownApp
    │   ├── BadKey
    │   └── Conflict       the id of a submission belongs to another one
    ├── BadSetting          a variable or option has a wrong value
    ├── BadMessage          a message that cannot be understood; it goes to the dead letters
    ├── Unreachable         the ledger or the broker does not answer; trying again may help
    │   └── ForeignBroker   the broker belongs to another installation
    ├── SchemaMismatch      the ledger's schema is older or newer than this code can work on
    └── LedgerBusy          others hold what is to be changed; nothing is half done, and trying again helps

Expected outcomes (a refused transition, a failed job) are values, not errors.
"""

from msgspec import Struct


class SluiceError(Exception):
    """What went wrong; ``where`` it is and ``advice`` on what to do, each one line or empty."""

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.advice = advice


class Fault(Struct, frozen=True, order=True):
    """One thing wrong with the definitions: in which source, at which app, and what."""

    source: str
    app: str
    what: str

    def __str__(self) -> str:
        place = f"{self.source}: {self.app}" if self.app else self.source
        return f"{place}: {self.what}"


class DefinitionError(SluiceError):
    """All faults of a catalogue at once, so that a user mends a file in one go."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        plural = "fault" if len(faults) == 1 else "faults"
        super().__init__(
            f"The definitions have {len(faults)} {plural}:\n" + "\n".join(f"  {fault}" for fault in faults),
            advice="Mend them; nothing was started.",
        )
        self.faults = faults


class BadRequest(SluiceError):
    """A request that cannot be carried out as it stands; repeating it will not help."""


class UnknownApp(BadRequest):
    """The catalogue has no app of this name."""


class BadKey(BadRequest):
    """A key that does not fit its app."""


class Conflict(BadRequest):
    """The id of a submission belongs to a submission that asks for something else."""


class BadSetting(SluiceError):
    """A setting whose value cannot be used; names the variable, what was found, and an example."""


class BadMessage(SluiceError):
    """A message that no retry will make understandable."""


class Unreachable(SluiceError):
    """A server does not answer now."""

    exit_code = 3


class ForeignBroker(Unreachable):
    """The virtual host or Redis database belongs to another installation, so no message of ours may go there.

    ``found`` is the mark of that installation.
    """

    exit_code = 2

    def __init__(self, found: str, what: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(what, where=where, advice=advice)
        self.found = found


class SchemaMismatch(SluiceError):
    """Code and ledger do not fit each other."""

    exit_code = 3


class LedgerBusy(SluiceError):
    """Others hold what is to be changed, or work where nobody may; nothing is half done."""

    exit_code = 3
