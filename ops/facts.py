"""Facts given to ``sluice plan`` in place of what the ledger knows."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from jobs.catalogue import Catalogue
from jobs.errors import BadRequest
from jobs.ref import JobName
from jobs.states import State
from planner.keyspaces import keyspace_of


class JobFact(Struct, frozen=True, forbid_unknown_fields=True):
    app: str
    key: str
    state: State


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    """Freshness, partitions and active spans concern keyspaces that have them; templates read ``jobs``."""

    freshness: Mapping[str, Mapping[str, str | float]] = {}
    partitions: Mapping[str, tuple[str, ...]] = {}
    active: tuple[Mapping[str, Any], ...] = ()
    jobs: tuple[JobFact, ...] = ()


def read_facts(file: str, catalogue: Catalogue) -> Mapping[JobName, State]:
    """The state of each job by its canonical name. BadRequest where the file, or - for stdin, cannot be used."""
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        facts = msgspec.json.decode(text, type=Facts)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadRequest(
            f"The facts cannot be read: {error}.",
            where=file,
            advice='Write JSON like {"jobs": [{"app": "A", "key": "1", "state": "…"}]}.',
        ) from None
    return {_name(fact, catalogue): fact.state for fact in facts.jobs}


def _name(fact: JobFact, catalogue: Catalogue) -> JobName:
    app = catalogue.app(fact.app)
    return JobName(app.name, keyspace_of(app, catalogue).canonical(app, fact.key))
