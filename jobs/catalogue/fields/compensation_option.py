"""The option ``compensate``: the app that undoes an app's jobs, or ``irreversible``.

A compensation is an ordinary job. It is planned when a saga across apps has failed, with the key of the job that it
undoes. It has no needs of its own, because it waits for the compensations of jobs that depended on the undone job.
"""

from collections.abc import Mapping

from sluice.jobs.catalogue.errors import At, nearest
from sluice.jobs.catalogue.fields.draft import Draft
from sluice.jobs.keys.identifiers import Text
from sluice.jobs.model.app import IRREVERSIBLE, App
from sluice.jobs.model.compensation import takes_any_key


def read_compensate(words: Mapping[str, object], at: At) -> str | None:
    """Return the name of the app, or ``irreversible``. None if nothing needs to be undone."""
    written = words.get("compensate")
    if written is None or isinstance(written, str):
        return written
    at.add(
        f"compensate: {written!r} is no name; write the name of the app whose jobs undo these, or {IRREVERSIBLE}"
    )
    return None


def check_compensations(drafts: Mapping[str, Draft], sound: Mapping[str, App]) -> None:
    """Add a fault for each compensation that cannot be carried out. ``sound`` are the apps with known types."""
    undoing: dict[str, str] = {}
    for draft in drafts.values():
        if draft.compensate is None:
            continue
        at = draft.at.inside("compensate")
        if draft.work.unbounded:
            at.add("the app is_long_running, so it never succeeds and never needs to be undone")
        if draft.compensate == IRREVERSIBLE:
            if IRREVERSIBLE in drafts:
                at.add(f"an app has the name {IRREVERSIBLE} too, so this is ambiguous; rename that app")
        elif draft.compensate not in drafts:
            at.add(f"there is no app {draft.compensate!r}{nearest(draft.compensate, drafts)}")
        else:
            undo = drafts[draft.compensate]
            _check_undo(draft, undo, at)
            if undoing.setdefault(undo.name, draft.name) != draft.name:
                at.add(
                    f"{undo.name} compensates {undoing[undo.name]} already, and jobs of the two may have one key;"
                    " give each an app of its own"
                )
            elif draft.name in sound and undo.name in sound:
                _check_keys(sound[draft.name], sound[undo.name], at)


def _check_undo(draft: Draft, undo: Draft, at: At) -> None:
    if undo.name == draft.name:
        at.add("an app cannot undo itself")
        return
    if undo.compensate is not None:
        at.add(f"{undo.name} has compensate itself; an app that undoes others cannot be undone")
    if undo.groups:
        at.add(
            f"{undo.name} has depends_on; a compensation waits only for the compensations that run before it"
        )
    if undo.autofill:
        at.add(f"{undo.name} has autofill_values; the jobs to undo determine which of its jobs run")
    if undo.filtered is not None:
        at.add(f"{undo.name} has valid_if_or; a compensation cannot be skipped")
    if undo.work.unbounded:
        at.add(f"{undo.name} is_long_running, so it never finishes an undo")
    for word, keyed in (("chunk", undo.chunking), ("partition", undo.partitioning)):
        if keyed:
            at.add(f"{undo.name} is keyed by {word}; an app that undoes others needs a job_id")


def _check_keys(app: App, undo: App, at: At) -> None:
    names = undo.template.names
    if not app.is_keyed_by_template or set(app.template.names) != set(names):
        if not takes_any_key(undo):
            wanted = (
                "that takes the whole key" if not app.is_keyed_by_template else f"like {app.template.text}"
            )
            at.add(f'{undo.name} has no job_id {wanted}; write job_id: "{{key}}", which any key fits')
        return
    for name in names:
        if not isinstance(undo.kind(name), Text) and undo.kind(name) != app.kind(name):
            at.add(f"{name} is {app.kind(name)} here and {undo.kind(name)} in {undo.name}")
