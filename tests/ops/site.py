"""World at the current time, on which an operator's commands run, for example ``sluice why``."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from sluice.ledger.recovery import leases
from sluice.ops.cli.main import main
from tests.world import World

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


class Site:
    """World at the current time, on which commands run as an operator types them."""

    def __init__(self, world: World, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        world.now = datetime.now(UTC)
        self.world = world
        self.folder = folder
        self._capture = capture
        self.hire(queues=[], threads=1)

    def hire(self, *, queues: list[str], threads: int) -> UUID:
        """Add a worker with a lease of one hour. It runs the jobs from now on."""
        id_ = self.world.worker = uuid4()
        terms = {
            "host": "site",
            "pid": 7,
            "queues": queues,
            "threads": threads,
            "code": "then",
            "lease_s": 3600.0,
        }
        self.world.ledger.transact(lambda tx: leases.join(tx, id_, **terms))
        return id_

    def dismiss(self) -> None:
        self.world.ledger.transact(lambda tx: leases.leave(tx, self.world.worker))

    def define(self, apps: Mapping[str, Any]) -> None:
        self.world.define(apps)
        (self.folder / "apps.json").write_text(json.dumps(apps))

    def chain(self, text: str, **words: Any) -> None:
        """Define apps by ``"a -> b"``, where b needs a."""
        names = [name.strip() for name in text.split("->")]
        needs = [{}, *({"depends_on": {"app_name": [name]}} for name in names)]
        self.define({name: WORDS | words | need for name, need in zip(names, needs, strict=False)})

    def why(self, job: str, code: int = 0) -> dict[str, Any]:
        app, _, key = job.partition("/")
        said: dict[str, Any] = self.says("why", app, key or "1", code=code)
        return said

    def says(self, *words: str, code: int = 0) -> Any:
        """Return the document that a command prints."""
        assert main(["--json", *words]) == code
        return json.loads(self._capture.readouterr().out)

    def types(self, *words: str, code: int = 0) -> str:
        """Return the text that a command prints for people."""
        assert main([*words]) == code
        return self._capture.readouterr().out

    def in_words(self, job: str, command: str = "why", code: int = 0) -> str:
        app, _, key = job.partition("/")
        assert main([command, app, key or "1"]) == code
        return self._capture.readouterr().out
