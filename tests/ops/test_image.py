"""The image, without a Docker to build it: what is installed in it is what its settings may ask for."""

import re
import subprocess
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.ops.typist import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
IMAGE = [*PROJECT["dependencies"], *OPTIONAL["trace"]]
#: What a checkout runs on.
CHECKOUT = [*PROJECT["dependencies"], *OPTIONAL["embedded"]]
_SED = r"""sed (?:'[^']+'|"[^"]+") requirements\.lock"""
_PIN = re.compile(r"^([\w.-]+)==", re.MULTILINE)


def cut(script: str, folder: Path, *arguments: str) -> set[str]:
    """Return the packages of the lock that the script's ``sed`` lets through, with these as its ``$1`` and so on."""
    (command,) = re.findall(_SED, script)
    (folder / "requirements.lock").write_text((ROOT / "requirements.lock").read_text())
    shell = ["sh", "-c", command, "sh", *arguments]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=True)
    return {canonicalize_name(name) for name in _PIN.findall(done.stdout)}


def needed(requirements: Iterable[str]) -> set[str]:
    """The packages that these bring, as the packages themselves say that are installed here."""
    found, left = set[str](), [Requirement(text) for text in requirements]
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name not in found and _is_wanted(one):
            found.add(name)
            left += map(Requirement, metadata.requires(one.name) or [])
    return found


def _is_wanted(one: Requirement) -> bool:
    return one.marker is None or one.marker.evaluate({**default_environment(), "extra": ""})


@pytest.fixture
def installed(tmp_path: Path) -> set[str]:
    return cut(DOCKERFILE, tmp_path)


def test_it_has_all_that_sluice_runs_on_and_what_traces_take(installed: set[str]) -> None:
    assert needed(IMAGE) <= installed
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= installed


def test_it_has_no_postgres(installed: set[str]) -> None:
    assert not (needed(OPTIONAL["embedded"]) - needed(IMAGE)) & installed


def test_what_only_the_tests_need_is_not_in_it(installed: set[str]) -> None:
    tools = {canonicalize_name(Requirement(text).name) for text in OPTIONAL["dev"]}
    assert tools & installed <= needed(IMAGE)
    assert not {"pytest", "mypy", "ruff", "hypothesis"} & installed


def test_a_checkout_has_no_packages_of_other_extras_before_its_tests(tmp_path: Path) -> None:
    script = (ROOT / "ops" / "setup" / "venv.sh").read_text()
    (section,) = re.findall(r'^running\)\n.*\n +install_up_to "([^"]+)"$', script, re.MULTILINE)
    least = cut(script, tmp_path, section.replace("\\", ""))
    assert needed(CHECKOUT) <= least
    assert not (needed(OPTIONAL["trace"]) - needed(CHECKOUT)) & least


def test_it_has_the_programs_that_settings_and_sources_ask_for() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    (line,) = re.findall(r"apt-get install --yes --no-install-recommends ([^\\]+?) *\\\n", final)
    assert line.split() == ["bubblewrap", "openssh-client", "rsync"]
    assert final.index("apt-get install") < final.index("\nUSER ")


def test_what_a_worker_needs_is_small() -> None:
    """Without the extra ``embedded``: a worker on a server's ledger. Setuptools is for the build alone."""
    names = needed(PROJECT["dependencies"]) | {"psycopg-binary", "psycopg-pool"}
    files = [file for name in names for file in metadata.files(name) or [] if not file.name.endswith(".pyc")]
    size = sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).exists())
    assert size < 60_000_000
