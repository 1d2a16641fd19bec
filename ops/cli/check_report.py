"""Broken rules as ``sluice db check`` and ``sluice db repair`` show them."""

from collections.abc import Iterator

from sluice.ledger.recovery.invariants import EXAMPLES_MAX, Breach
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.documents.rule_texts import advice, examples

AGREES = Paragraph("The ledger is consistent.", "green")


def document(found: list[Breach]) -> list[dict[str, object]]:
    return [
        {
            "rule": each.rule,
            "count": each.count,
            "of": each.of,
            "examples": each.examples,
            "repair": advice(each),
        }
        for each in found
    ]


def blocks(found: list[Breach]) -> Iterator[Block]:
    """Yield a table for each advice, with the rules that it is about."""
    for each in dict.fromkeys(map(advice, found)):
        rows = [
            (breach.rule, breach.things, examples(breach, most=EXAMPLES_MAX))
            for breach in found
            if advice(breach) == each
        ]
        yield Table(("broken rule", "broken by", "examples"), rows, prose=True)
        yield Paragraph(each)
