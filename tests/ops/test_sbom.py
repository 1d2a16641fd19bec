"""The software bill of materials: it lists the packages that Sluice runs on, and no others."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sluice.jobs.release import release
from tests.ops.typist import ROOT

RUNNING, _, FOR_TESTS = (ROOT / "requirements.lock").read_text().partition("# For `make test`")


@pytest.mark.timeout(900)
def test_the_bill_lists_the_packages_that_sluice_runs_on(tmp_path: Path) -> None:
    """One test, because the bill takes a minute: its packages are installed. The script validates the bill too."""
    path = tmp_path / "bill.json"
    subprocess.run(["sh", "ops/setup/sbom.sh", path], cwd=ROOT, check=True)
    bill = json.loads(path.read_text())
    listed = {canonicalize_name(each["name"]): each["version"] for each in bill["components"]}

    assert listed == _locked(RUNNING)
    assert _declared() <= listed.keys()
    for_tests = _locked(FOR_TESTS).keys()
    assert {"pytest", "mypy", "playwright"} <= for_tests
    assert not for_tests & listed.keys()

    subject = bill["metadata"]["component"]
    assert (subject["name"], subject["version"]) == ("sluice-jobs", release())
    assert [each["license"]["id"] for each in subject["licenses"]] == ["Apache-2.0"]
    licences = {each["name"]: each.get("licenses", []) for each in bill["components"]}
    assert [each["license"]["id"] for each in licences["networkx"]] == ["BSD-3-Clause"]
    needs = {each["ref"].partition("==")[0]: each.get("dependsOn", []) for each in bill["dependencies"]}
    assert any(each.startswith("networkx==") for each in needs["root-component"])
    assert any(each.startswith("typing_extensions==") for each in needs["SQLAlchemy"])
    assert "serialNumber" not in bill, "it would differ each time"
    assert "timestamp" not in bill["metadata"]


def test_every_package_of_the_lock_has_digests_of_its_files() -> None:
    """This includes the packages for the tests. ``pip install --require-hashes`` would refuse a package without digests
    too, but this test names it.
    """
    pinned = [block for block in re.split(r"\n(?=\S)", RUNNING + FOR_TESTS) if re.match(r"\S+==", block)]
    assert len(pinned) > len(_locked(RUNNING)) > 20
    assert [block for block in pinned if "--hash=sha256:" not in block] == []


def _locked(lock: str) -> dict[str, str]:
    """Return the version of each package that a part of the lock installs on this Python."""
    pins = re.findall(r"^(\w\S*==[^\\\n]+)", lock, re.MULTILINE)
    return {name: str(pin.specifier).removeprefix("==") for name, pin in _applicable(pins)}


def _declared() -> set[str]:
    """Return the packages that pyproject.toml names for running Sluice on this Python."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    return {
        name for name, _ in _applicable([*project["dependencies"], *optional["embedded"], *optional["trace"]])
    }


def _applicable(requirements: Iterable[str]) -> Iterable[tuple[str, Requirement]]:
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate():
            yield canonicalize_name(requirement.name), requirement
