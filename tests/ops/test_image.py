"""The image, without Docker to build it: it has the packages and programs that its settings may need."""

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
from tests.style.sources import PACKAGE, ROOMS

DOCKERFILE = (ROOT / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
IMAGE = [*PROJECT["dependencies"], *OPTIONAL["trace"]]
#: Requirements of a checkout.
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
    """Return the packages that these requirements bring, according to the packages that are installed here."""
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


def test_the_image_has_the_packages_for_sluice_and_for_traces(installed: set[str]) -> None:
    assert needed(IMAGE) <= installed
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= installed


def test_the_image_is_built_from_all_packages() -> None:
    names = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {*ROOMS, PACKAGE, "pyproject.toml", "README.md", "LICENSE", "requirements.lock"} == names


def test_the_image_has_no_postgres(installed: set[str]) -> None:
    assert not (needed(OPTIONAL["embedded"]) - needed(IMAGE)) & installed


def test_the_image_has_no_packages_for_tests_only(installed: set[str]) -> None:
    tools = {canonicalize_name(Requirement(text).name) for text in OPTIONAL["dev"]}
    assert tools & installed <= needed(IMAGE)
    assert not {"pytest", "mypy", "ruff", "hypothesis"} & installed


def test_the_minimal_checkout_has_no_packages_of_other_extras(tmp_path: Path) -> None:
    script = (ROOT / "ops" / "setup" / "venv.sh").read_text()
    (section,) = re.findall(r'^running\)\n.*\n +install_up_to "([^"]+)"$', script, re.MULTILINE)
    least = cut(script, tmp_path, section.replace("\\", ""))
    assert needed(CHECKOUT) <= least
    assert not (needed(OPTIONAL["trace"]) - needed(CHECKOUT)) & least


def test_the_image_has_the_programs_for_settings_and_sources() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    (line,) = re.findall(r"apt-get install --yes --no-install-recommends ([^\\]+?) *\\\n", final)
    assert line.split() == ["bubblewrap", "openssh-client", "rsync"]
    assert final.index("apt-get install") < final.index("\nUSER ")


def test_the_packages_of_a_worker_are_below_60_mb() -> None:
    """The worker uses a ledger on a server, so the extra ``embedded`` is left out. Setuptools is only for the build."""
    names = needed(PROJECT["dependencies"]) | {"psycopg-binary"}
    files = [file for name in names for file in metadata.files(name) or [] if not file.name.endswith(".pyc")]
    size = sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).exists())
    assert size < 60_000_000
