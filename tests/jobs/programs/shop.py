"""Store of programs for tests, with source files and the messages of the store."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.source import Rules
from sluice.jobs.programs.store import ProgramStore

NOT_PUBLIC = (
    "the address of the host {} is not an address of the public internet; "
    "to allow the host, add it to SLUICE_PROGRAM_HOSTS"
)
HERE = Rules(hosts=("127.0.0.1",), fetch_timeout_s=60)


class Shop:
    """Store of programs in ``folder``. Programs come from ``files``. No other file beside them may change."""

    def __init__(self, folder: Path) -> None:
        self.around = folder
        self.folder, self.files = folder / "store", folder / "files"
        self.files.mkdir()
        (folder / "sentinel").write_text("untouched")
        self.said: list[str] = []
        self.stop = threading.Event()

    def put(self, name: str, content: bytes, *, mode: int = 0o644) -> str:
        """Write a file and return its source."""
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
        return f"file:{path}"

    def store(self, rules: Rules = HERE, **words: object) -> ProgramStore:
        return ProgramStore(self.folder, msgspec.structs.replace(rules, **words))

    @contextmanager
    def program(
        self, source: str, digest: str | None = None, *, name: str = "prog", **words: object
    ) -> Iterator[Path]:
        store = self.store(**words)
        with store.program(name, source, digest, stop=self.stop, say=self.said.append) as folder:
            yield folder

    def run(self, source: str, digest: str | None = None, *, name: str = "prog", **words: object) -> str:
        """Run the program and return its output."""
        with self.program(source, digest, name=name, **words) as folder:
            assert folder.name == name
            return run_sh(folder)

    def refusal(self, source: str, digest: str | None = None, *, name: str = "prog", **words: object) -> str:
        """Return the reason why the program is refused. Check that it is one line and that no leftovers exist."""
        with pytest.raises(Unfit) as caught, self.program(source, digest, name=name, **words):
            pass
        line = str(caught.value)
        assert line.isprintable()
        assert self.leftovers() == []
        return line

    def refuses(self, source: str, why: str, **words: object) -> None:
        """Check that the program cannot be fetched, and that this is the reason."""
        assert self.refusal(source, **words) == f"could not fetch program 'prog' from {source}: {why}"

    def leftovers(self) -> list[Path]:
        return [
            path
            for shelf in ("aside", "runs")
            for path in sorted((self.folder / shelf).glob("*"))
            if path.exists()
        ]

    def versions(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "versions").glob("*"))


def run_sh(folder: Path) -> str:
    return subprocess.run(["./run.sh"], cwd=folder, capture_output=True, text=True, check=True).stdout


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()
