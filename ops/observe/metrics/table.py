"""Table of the metrics for docs/observe.md."""

from collections.abc import Iterator

from sluice.ops.observe.metrics.families import FAMILIES


def table() -> str:
    return "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    yield "| metric | kind | labels | meaning |"
    yield "|---|---|---|---|"
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        yield f"| `{family.name}` | {family.kind} | {labels} | {family.says} |"
