"""Short notations for catalogues and job names in tests."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import DefinitionError
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from sluice.planner.preview.preview import Preview, preview

DATED = {"job_id": "{date}"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: Apps, the parents of some of their jobs by group, and the children of some of their jobs.
Relation = tuple[dict[str, Any], dict[str, dict[str, str]], dict[str, str]]


def catalogue_of(apps: Mapping[str, Any], **options: Any) -> Catalogue:
    """Load a JSON file of these apps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "apps.json"
        path.write_text(json.dumps(apps))
        return load([str(path)], **options)


def faults_of(apps: Mapping[str, Any], **options: Any) -> list[tuple[str, str]]:
    """Return app and text of every fault in a JSON file of these apps."""
    try:
        catalogue_of(apps, **options)
    except DefinitionError as error:
        return [(fault.app, fault.what) for fault in error.faults]
    return []


def jobs(text: str) -> list[JobName]:
    """Return the job names in a text like ``{a,b}/1_{x,y} c/2``, in canonical order."""
    return sorted(JobName(*name.split("/", 1)) for word in text.split() for name in _spread(word))


def parents(catalogue: Catalogue, name: JobName) -> dict[str, list[JobName]]:
    """Return group → parents, in the order of the definition."""
    gates = TemplateKeyspace(catalogue).gates(catalogue.app(name.app), name.key)
    return {gate.name: [need.parent for need in gate.needs] for gate in gates}


def children(catalogue: Catalogue, name: JobName) -> list[JobName]:
    return list(TemplateKeyspace(catalogue).children(catalogue.app(name.app), name.key))


def previewed(
    catalogue: Catalogue,
    submission: Submission,
    states: Mapping[JobName, State] | None = None,
    ages: Mapping[JobName, timedelta] | None = None,
) -> Preview:
    """Preview a submission if jobs have been in these states for these ages. All other jobs do not exist."""
    known = {
        name: KnownJob(0, *name, state, NOW - (ages or {}).get(name, timedelta()))
        for name, state in (states or {}).items()
    }
    return preview(
        catalogue, submission, lambda names: {name: known[name] for name in names if name in known}, NOW
    )


def _spread(word: str) -> Iterator[str]:
    parts = [part.split(",") for part in re.split(r"[{}]", word)]
    return ("".join(choice) for choice in product(*parts))
