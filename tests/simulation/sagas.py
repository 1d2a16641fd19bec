"""Random apps that are sagas or have an undo, and the acts of an operator."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sluice.actors.client import Client
from sluice.broker.messages import Cancel, Message, Submit
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.simulation.steps import drawn_function

UNDO = "undo_"
#: Longest time between two acts of an operator, in seconds.
LOOK_S = 6.0
_FATAL = f"SELECT app, key FROM job WHERE state = '{State.FATAL}' AND saga_open ORDER BY id"
_LIVING = "SELECT app, key FROM job WHERE saga_open ORDER BY id"


def with_drawn_sagas(rng: random.Random, apps: Mapping[str, Any]) -> dict[str, Any]:
    """Return the apps, of which apps keyed by template may become sagas, and apps that undo others."""
    drawn: dict[str, Any] = {}
    for name, app in apps.items():
        if "job_id" not in app:
            drawn[name] = app
            continue
        drawn[name] = _as_saga(rng, app) if rng.random() < 0.6 else app
    return with_drawn_undoing(rng, drawn)


def with_drawn_undoing(rng: random.Random, apps: Mapping[str, Any]) -> dict[str, Any]:
    """Return the apps, and apps that undo some of them."""
    drawn: dict[str, Any] = {}
    for name, app in apps.items():
        drawn[name] = app
        if "job_id" in app and rng.random() < 0.6:
            drawn[name] = app | {"compensate": f"{UNDO}{name}"}
            drawn[f"{UNDO}{name}"] = _drawn_undo(rng, app)
        elif "job_id" in app and rng.random() < 0.4:
            drawn[name] = app | {"compensate": "irreversible"}
    return drawn


def failing_saga(rng: random.Random) -> dict[str, Any]:
    """Draw a saga that fails in its last ``do``, unless it fails before."""
    return {
        "job_id": "{x}",
        "job_type": "saga",
        "function": drawn_function(rng),
        "debug": {"fail_last": True},
    }


def undoes(name: str) -> bool:
    return name.startswith(UNDO)


def with_drawn_mode(rng: random.Random, apps: Mapping[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Draw the mode of a submission: if any app can be undone, half of them are sagas across apps.

    Sometimes the steps of a saga are made to fail.
    """
    drawn = dict(words)
    if any("compensate" in app for app in apps.values()) and rng.random() < 0.5:
        drawn["mode"] = "saga"
    if apps[words["app"]].get("job_type") == "saga" and rng.random() < 0.3:
        debug = rng.choice(({"restart_each_step": True}, {"fail_last": True}, {"fail_at": {0: "retry"}}))
        drawn["policy"] = {**drawn.get("policy", {}), "debug": debug}
    return drawn


class Operator:
    """Operator that sometimes retries a failed undo, forces it as done, or cancels a flight."""

    def __init__(
        self, rng: random.Random, plain: Ledger, client: Client, send: Callable[[Message], None]
    ) -> None:
        self._rng = rng
        self._plain = plain
        self._client = client
        self._send = send
        self._asked = 0

    def look(self) -> None:
        fatal, living = (
            self._plain.transact(lambda tx, sql=sql: [JobName(*row) for row in tx.rows(sql)])
            for sql in (_FATAL, _LIVING)
        )
        if fatal and self._rng.random() < 0.7:
            name = self._rng.choice(fatal)
            if self._rng.random() < 0.5:
                self._try_again(name)
            else:
                self._force_done(name)
        elif living and self._rng.random() < 0.15:
            name = self._rng.choice(living)
            self._send(Cancel(app=name.app, key=name.key))

    def _try_again(self, name: JobName) -> None:
        words = {"app": name.app, "key": name.key, "rerun": "job"}
        self._send(Submit(id=self._named(), submission=msgspec.Raw(msgspec.json.encode(words))))

    def _force_done(self, name: JobName) -> None:
        try:
            self._client.force_done(name, by="an operator", id=self._named())
        except BadRequest:
            # Its definition has failed, or another message has run it again meanwhile.
            return

    def _named(self) -> str:
        """Return the next id. It must be the same whenever the seed is replayed."""
        self._asked += 1
        return f"by hand {self._asked}"


def _as_saga(rng: random.Random, app: Mapping[str, Any]) -> dict[str, Any]:
    counted = ("max_losses", "max_timeouts", "bash_cmd")
    return {
        **{word: value for word, value in app.items() if word not in counted},
        "job_type": "saga",
        "function": drawn_function(rng),
    }


def _drawn_undo(rng: random.Random, app: Mapping[str, Any]) -> dict[str, Any]:
    undo = {
        "job_id": rng.choice(("{key}", app["job_id"])),
        "job_type": "bash",
        "bash_cmd": "true",
        "max_fails": rng.choice((0, 2)),
        "max_losses": rng.choice((0, 50)),
    }
    return _as_saga(rng, undo) if rng.random() < 0.2 else undo
