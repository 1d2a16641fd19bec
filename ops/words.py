"""Words for people: users' own, made fit to be shown, and commands that can be typed as they stand."""

from shlex import quote

from sluice.jobs.ref import JobName


def legible(text: str) -> str:
    """Without what would move the cursor or ring a bell: keys and errors are users' own words."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def first_line(text: str | None) -> str:
    """What an error says, without the traceback below it."""
    return (text or "").strip().partition("\n")[0]


def command(words: str, name: JobName) -> str:
    """A command about one job: ``sluice why fetch 20261120_oslo``."""
    return f"sluice {words} {quote(name.app)} {quote(name.key)}"
