"""Typist of ``sluice`` commands inside this process, because starting a process for each command takes longer."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sluice.ops.cli.main import main
from tests.ops.typist import Said


class Clerk:
    """Typist of commands in ``folder``, which is also the current folder of this process. Answers are requested as
    JSON, except by ``reads``."""

    def __init__(self, folder: Path, spoken: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._spoken = spoken

    def types(self, *words: str) -> Said:
        """Run one command to its end."""
        return self._hears(*words, "--json")

    def reads(self, *words: str) -> list[str]:
        """Return the lines of the answer for people. The command must succeed."""
        said = self._hears(*words)
        assert said.code == 0, said.err
        return said.out.splitlines()

    def asks(self, *words: str) -> Any:
        """Return the JSON document of the answer. The command must succeed."""
        said = self.types(*words)
        assert said.code == 0, said.err
        return said.document

    def writes(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def defines(self, apps: Mapping[str, Any], *, name: str = "apps.json") -> str:
        """Write a source with these apps, and return its name for ``--apps``."""
        return self.writes(name, json.dumps(apps))

    def _hears(self, *words: str) -> Said:
        self._spoken.readouterr()
        code = main([*words])
        out, err = self._spoken.readouterr()
        assert "Traceback" not in err, err
        return Said(code, out, err)
