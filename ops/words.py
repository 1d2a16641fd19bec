"""Texts for people: users' own text made safe to display, and commands to paste into a shell."""

from shlex import quote

from sluice.jobs.model.names import JobName


def legible(text: str) -> str:
    """Replace characters that could move the cursor or ring the bell. Keys and errors are users' own text."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def first_line(text: str | None) -> str:
    """Return the first line of an error, without the traceback below it."""
    return (text or "").strip().partition("\n")[0]


def command(words: str, name: JobName) -> str:
    """Return a command about one job, like ``sluice why fetch 20261120_oslo``."""
    return f"sluice {words} {quote(name.app)} {quote(name.key)}"
