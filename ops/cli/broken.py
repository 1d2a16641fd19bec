"""What `sluice db check` and `sluice db repair` say of rules that are broken."""

from collections.abc import Iterator

from ledger.reads.check import Breach
from ledger.repairing import can_be_repaired
from ops.cli.page import Block, Line, Table

AGREES = Line("The ledger agrees with itself.", "green")
_REPAIRABLE = "`sluice db repair` works this out anew from what it follows from; workers may run meanwhile."
_NOT_REPAIRABLE = (
    "Nothing in the ledger tells what is right here. Take a dump first; then look at these jobs with `sluice show` and "
    "`sluice audit`, and end them or have them done again by hand, or restore a backup."
)


def document(found: list[Breach]) -> list[dict[str, object]]:
    return [{"rule": each.rule, "rows": each.rows, "repair": _advice(each)} for each in found]


def blocks(found: list[Breach]) -> Iterator[Block]:
    for advice in (_REPAIRABLE, _NOT_REPAIRABLE):
        if those := [
            (each.rule, ", ".join(map(str, each.rows))) for each in found if _advice(each) == advice
        ]:
            yield Table(("broken rule", "rows"), those, prose=True)
            yield Line(advice)


def _advice(breach: Breach) -> str:
    return _REPAIRABLE if can_be_repaired(breach) else _NOT_REPAIRABLE
