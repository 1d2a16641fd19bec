"""``docs/states.md``, derived from the table of states: ``python -m sluice.ops.tools.states_page > docs/states.md``."""

import sys
from collections.abc import Iterator

from sluice.jobs.states import RERUNNABLE, TERMINAL, VERBS, State, Verb


def page() -> str:
    """Return the page as it must be. A test compares it with the existing page."""
    return "\n".join(
        [
            "# The states of a job",
            "",
            "This page is generated from `jobs/states.py`, as are the ledger's guards and constraints.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            *_arrows(),
            "```",
            "",
            "| verb | from | to | by | when |",
            "|---|---|---|---|---|",
            *(_row(verb) for verb in VERBS),
            "",
            "Terminal: " + ", ".join(f"`{state}`" for state in State if state in TERMINAL) + ".",
            "",
        ]
    )


def _arrows() -> Iterator[str]:
    """Yield the arrows. Verbs that revive ended jobs are not in the picture, only in the table."""
    for verb in VERBS:
        if verb.existing and set(verb.existing) <= TERMINAL and verb.target not in TERMINAL:
            continue
        if None in verb.sources:
            yield f"    [*] --> {verb.target}: {verb.name}"
        for source in verb.existing:
            yield f"    {source} --> {verb.target}: {verb.name}"


def _row(verb: Verb) -> str:
    sources = [*(["\N{EN DASH}"] if None in verb.sources else []), *(f"`{state}`" for state in verb.existing)]
    if set(verb.existing) == RERUNNABLE:
        sources = [f"any terminal state except `{State.SPLIT}`"]
    by = ", ".join(sorted(verb.by))
    return f"| {verb.name} | {' '.join(sources)} | `{verb.target}` | {by} | {verb.when} |"


if __name__ == "__main__":
    sys.stdout.write(page())
