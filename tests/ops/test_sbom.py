"""The software bill of materials: it is valid, and nothing is missing in it."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from sluice.ops.tools.sbom import LOCK, pins
from tests.ops.typist import ROOT


def _made() -> str:
    command = [sys.executable, "-m", "sluice.ops.tools.sbom"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def bill() -> Any:
    return json.loads(_made())


def test_the_bill_conforms_to_its_schema(bill: Any) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(bill)) is None
    assert validator.validate_str(json.dumps(bill | {"colour": "red"})) is not None


def test_every_runtime_package_is_in_the_bill_with_its_digests(bill: Any) -> None:
    running = LOCK.read_text().partition("# For `make test`")[0]
    locked = dict(re.findall(r"^([\w.-]+)==([\w.!+-]+)", running, re.MULTILINE))
    assert {each["name"]: each["version"] for each in bill["components"]} == locked
    assert {"msgspec", "dramatiq", "psycopg", "sqlalchemy"} <= locked.keys()
    digests = [
        digest["content"]
        for each in bill["components"]
        for file in each["externalReferences"]
        for digest in file["hashes"]
    ]
    assert sorted(digests) == sorted(re.findall(r"--hash=sha256:(\w+)", running))


def test_the_bill_has_the_dependencies_of_each_package(bill: Any) -> None:
    known = {each["bom-ref"] for each in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {each["ref"] for each in bill["dependencies"]} == known
    needs = {each["ref"].partition("@")[0]: each["dependsOn"] for each in bill["dependencies"]}
    assert any(each.startswith("pkg:pypi/typing-extensions@") for each in needs["pkg:pypi/sqlalchemy"])


def test_the_same_lock_makes_the_same_bill(bill: Any) -> None:
    assert json.loads(_made()) == bill


def test_every_package_of_the_lock_has_digests_of_its_files() -> None:
    """This includes the packages for the tests. ``pip install --require-hashes`` would refuse a package without digests
    too, but this test names it.
    """
    lock = LOCK.read_text()
    everything = pins(lock.replace("# For `make test`", "# and"))
    assert len(everything) > len(pins(lock)) > 20
    assert [pin.name for pin in everything if not pin.digests] == []
