"""Order in which the pages are read, from first steps to reference."""

from pathlib import Path

from msgspec import Struct


class Section(Struct, frozen=True):
    title: str
    pages: tuple[str, ...]


SECTIONS = (
    Section("Begin", ("index.md", "start.md", "ideas.md")),
    Section(
        "Key and run work",
        ("keys.md", "tutorial.md", "chunks.md", "partitions.md", "programs.md", "sagas.md"),
    ),
    Section(
        "Go further",
        (
            "schedules.md",
            "rounds.md",
            "job-types.md",
            "branches.md",
            "compensation.md",
            "managers.md",
            "feature-pipeline.md",
            "testing.md",
        ),
    ),
    Section(
        "Operate",
        (
            "console.md",
            "deploy.md",
            "security.md",
            "observe.md",
            "runbook.md",
            "doctor.md",
            "listing.md",
            "retention.md",
            "performance.md",
        ),
    ),
    Section(
        "Look up",
        ("cli.md", "messages.md", "http.md", "configuration.md", "states.md"),
    ),
    Section("Understand", ("reliability.md", "architecture.md", "ledger.md", "compare.md")),
)


def pages() -> list[str]:
    return [page for section in SECTIONS for page in section.pages]


def strangers(docs: Path) -> tuple[list[str], list[str]]:
    """Return the pages that are in no section, and the missing pages of sections."""
    there = {path.name for path in docs.glob("*.md")}
    return sorted(there - set(pages())), [page for page in pages() if page not in there]
