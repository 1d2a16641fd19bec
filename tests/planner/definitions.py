"""Catalogues and job names for tests, written short."""

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
from sluice.jobs.known import Known
from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.jobs.submission import Submission
from sluice.planner.preview import Preview, preview
from sluice.planner.template_keys import TemplateKeyspace

DATED = {"job_id": "{date}"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: Apps; the parents, by group, of some of their jobs; and the children of some.
Relation = tuple[dict[str, Any], dict[str, dict[str, str]], dict[str, str]]


def catalogue_of(apps: Mapping[str, Any], **options: Any) -> Catalogue:
    """What a JSON file of these apps loads as."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "apps.json"
        path.write_text(json.dumps(apps))
        return load([str(path)], **options)


def faults_of(apps: Mapping[str, Any], **options: Any) -> list[tuple[str, str]]:
    """App and text of every fault of a JSON file of these apps."""
    try:
        catalogue_of(apps, **options)
    except DefinitionError as error:
        return [(fault.app, fault.what) for fault in error.faults]
    return []


def jobs(text: str) -> list[JobName]:
    """``{a,b}/1_{x,y} c/2`` as job names, in canonical order."""
    return sorted(JobName(*name.split("/", 1)) for word in text.split() for name in _spread(word))


def parents(catalogue: Catalogue, name: JobName) -> dict[str, list[JobName]]:
    """Group → parents, in the order given."""
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
    """What it would come to where jobs are in these states, and have been for so long; the rest is not there yet."""
    known = {
        name: Known(0, *name, state, NOW - (ages or {}).get(name, timedelta()))
        for name, state in (states or {}).items()
    }
    return preview(
        catalogue, submission, lambda names: {name: known[name] for name in names if name in known}, NOW
    )


def _spread(word: str) -> Iterator[str]:
    parts = [part.split(",") for part in re.split(r"[{}]", word)]
    return ("".join(choice) for choice in product(*parts))
