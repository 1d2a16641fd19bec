"""Somebody who types ``sluice`` commands inside this process, which spares starting one for each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sluice.ops.cli.main import main
from tests.ops.typist import Said


class Clerk:
    """``folder`` is where commands are typed; it is this process's folder too. Answers are asked for as JSON, unless
    they are read."""

    def __init__(self, folder: Path, spoken: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._spoken = spoken

    def types(self, *words: str) -> Said:
        """Run one command to its end."""
        return self._hears(*words, "--json")

    def reads(self, *words: str) -> list[str]:
        """The lines that people get; the command must succeed."""
        said = self._hears(*words)
        assert said.code == 0, said.err
        return said.out.splitlines()

    def asks(self, *words: str) -> Any:
        """The document that a command answers; it must succeed."""
        said = self.types(*words)
        assert said.code == 0, said.err
        return said.document

    def writes(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def defines(self, apps: Mapping[str, Any], *, name: str = "apps.json") -> str:
        """A source with these apps, to be named by ``--apps``."""
        return self.writes(name, json.dumps(apps))

    def _hears(self, *words: str) -> Said:
        self._spoken.readouterr()
        code = main([*words])
        out, err = self._spoken.readouterr()
        assert "Traceback" not in err, err
        return Said(code, out, err)
