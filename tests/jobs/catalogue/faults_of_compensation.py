"""Faults in ``compensate``, which names the app that undoes the jobs of another app."""

from typing import Any

from tests.jobs.catalogue import faults_of_work
from tests.jobs.catalogue.faulty_apps import Fault

_MANAGED = {"job_type": f"{faults_of_work.__name__}:Grid", "is_long_running": True}


def _undone_by(undo: dict[str, Any], **more: dict[str, Any]) -> dict[str, Any]:
    """Define ``a``, and ``undo``, which compensates it."""
    return {"a": {"job_id": "{date}_{x}", "compensate": "undo"}, "undo": {"job_id": "{key}"} | undo, **more}


def _is(**compensated: Any) -> dict[str, Any]:
    return {"a": {"job_id": "{date}_{x}"} | compensated}


FAULTS_OF_COMPENSATION: dict[str, Fault] = {
    "what undoes it is no name": (_is(compensate=7), "compensate: 7 is no name; write the name of the app"),
    "what undoes it is not there": (
        {**_is(compensate="und"), "undo": {"job_id": "{key}"}},
        "compensate: there is no app 'und' (did you mean undo?)",
    ),
    "it undoes itself": (_is(compensate="a"), "compensate: an app cannot undo itself"),
    "what undoes it would be undone": (
        _undone_by({"compensate": "irreversible"}),
        "undo has compensate itself; an app that undoes others cannot be undone",
    ),
    "what undoes it waits for others": (
        _undone_by({"job_id": "{date}_{x}", "depends_on": {"app_name": ["b"]}}, b={"job_id": "{date}_{x}"}),
        "undo has depends_on; a compensation waits only for the compensations that run before it",
    ),
    "what undoes it enumerates its jobs": (
        _undone_by({"autofill_values": {"key": ["1", "2"]}}),
        "undo has autofill_values; the jobs to undo determine which",
    ),
    "what undoes it may be skipped": (
        _undone_by({"valid_if_or": {"key": ["1"]}}),
        "undo has valid_if_or; a compensation cannot be skipped",
    ),
    "what undoes it is keyed by chunk": (
        {**_is(compensate="undo"), "undo": {"chunk_size": 5}},
        "undo is keyed by chunk; an app that undoes others needs a job_id",
    ),
    "what undoes it is keyed by partition": (
        {**_is(compensate="undo"), "undo": {"output_table": "t"}},
        "undo is keyed by partition; an app that undoes others needs a job_id",
    ),
    "what undoes it has other identifiers": (
        _undone_by({"job_id": "{x}_{y}"}),
        'compensate: undo has no job_id like {date}_{x}; write job_id: "{key}", which any key fits',
    ),
    "what undoes chunks has several identifiers": (
        {"a": {"chunk_size": 5, "compensate": "undo"}, "undo": {"job_id": "{x}_{y}"}},
        "compensate: undo has no job_id that takes the whole key",
    ),
    "what undoes it reads an identifier otherwise": (
        _undone_by({"job_id": "{date}_{x}", "identifiers": {"x": "int"}}),
        "compensate: x is str here and int in undo",
    ),
    "one app undoes two": (
        _undone_by({}, b={"job_id": "{y}", "compensate": "undo"}),
        "undo compensates a already, and jobs of the two may have one key",
    ),
    "an app is called irreversible": (
        {**_is(compensate="irreversible"), "irreversible": {"job_id": "{x}"}},
        "an app has the name irreversible too, so this is ambiguous",
    ),
    "an app that never ends has a compensation": (
        {"a": {"job_id": "{x}", "compensate": "irreversible", **_MANAGED}},
        "compensate: the app is_long_running, so it never succeeds",
    ),
    "a compensation never ends": (
        _undone_by(_MANAGED),
        "undo is_long_running, so it never finishes an undo",
    ),
}
