"""Submissions for partitions, by app or by conf. A conf stands for the app that its mode ends in, run in that mode."""

from collections.abc import Iterable

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.submission import Submission


def is_by_partition(catalogue: Catalogue, submission: Submission) -> bool:
    """Return whether the submission is about partitions. Branches and confs apply to nothing else."""
    name = submission.app
    if submission.branch is not None or name in catalogue.confs:
        return True
    return name in catalogue and catalogue[name].partitioning is not None


def meant(catalogue: Catalogue, submission: Submission) -> Submission:
    """Return the submission with the app in place of a conf; BadRequest if the conf or the app has no such mode."""
    name, mode = submission.app, submission.layout_mode
    terminals = catalogue.confs.get(name)
    if terminals is None:
        app = catalogue.app(name)
        if mode is not None and app.partitioning and mode not in app.partitioning.modes:
            raise _no_such_mode(name, mode, app.partitioning.modes)
        return submission
    if mode is None and len(terminals) == 1:
        (mode,) = terminals
    if mode is None or mode not in terminals:
        raise _no_such_mode(name, mode, terminals)
    return replace(submission, app=terminals[mode], mode=mode)


def _no_such_mode(name: str, mode: str | None, modes: Iterable[str]) -> BadRequest:
    known = ", ".join(modes) or "it has none"
    what = (
        f"{name} has no mode {mode!r}."
        if mode
        else f"{name} has several modes; the submission does not name any."
    )
    return BadRequest(what, where=name, advice=f"Its modes: {known}.")
