"""Detection of values in a command that would be run as code, when definitions are loaded."""

from collections.abc import Iterator

from sluice.jobs.app import App
from sluice.jobs.catalogue.faults import At
from sluice.jobs.identifiers import Checked, Text
from sluice.jobs.runners.braces import OF_EVERY_JOB
from sluice.jobs.runners.evaluated import evaluated

_, _JOB_ID = OF_EVERY_JOB


def refuse_evaluated(app: App, at: At) -> None:
    """Add a fault for each placeholder of ``bash_cmd`` that is evaluated as code and may be any text.

    Whole numbers, days and values listed in the definition are safe, because the author allows them.
    """
    if (
        app.bash_cmd is None or app.partitioning is not None
    ):  # Partitions are written by the calendar of the app.
        return
    try:
        found = evaluated(app.bash_cmd)
    except ValueError:  # The error in its braces is reported where the command is read.
        return
    texts = set(_texts(app)) if found else set()
    for name, why in found.items():
        if name in texts:
            at.add(
                f"bash_cmd: {{{name}}} {why}, so the shell would run code that a key contains;"
                " declare it as int or date in identifiers, list its values, or use it as a separate word"
            )


def _texts(app: App) -> Iterator[str]:
    """Yield the placeholders that may have any text as value."""
    if app.chunking is not None:
        yield from ("work_ids", _JOB_ID)
        return
    texts = [name for name in app.template.names if isinstance(app.kind(name), Text | Checked)]
    yield from texts
    if texts and _JOB_ID not in app.template.names:
        yield _JOB_ID
