"""The pages and files for contributors: their commands, paths and layers are those of the code."""

import re

import yaml

from tests.style import documents
from tests.style.layers import BELOW
from tests.style.sources import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
_ROW = re.compile(r"^\| `(\w+)/` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_PATH = re.compile(r"(?<![\w./~`*])`?((?:\w+/)+\w+\.py|\w+/(?:\w+/)*)(?=[`\s])")


def test_the_page_has_the_layers_of_the_packages() -> None:
    rows = dict(_ROW.findall(PAGE))
    names = list(rows)
    found = {
        name: set(names[place + 1 :])
        if rows[name].startswith("all packages below")
        else set(re.findall(r"`(\w+)/`", rows[name]))
        for place, name in enumerate(names)
    }
    assert found == BELOW


def test_each_path_of_the_page_exists() -> None:
    paths = set(_PATH.findall(PAGE))
    assert {"tests/tiers.py", "ledger/schema/migrate.py", "tests/live/test_upgrade.py"} <= paths
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_each_target_of_make_exists() -> None:
    template = (ROOT / ".github/PULL_REQUEST_TEMPLATE.md").read_text()
    assert documents.missing_targets(PAGE + template, MAKEFILE) == []


def test_the_workflow_runs_targets_of_make_on_each_supported_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    steps = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    typed = "".join(f"`{step}`\n" for step in steps)
    assert {"make test", "make servers", "make check"} <= set(steps)
    assert documents.missing_targets(typed, MAKEFILE) == []
    classifiers = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert jobs["test"]["strategy"]["matrix"]["python"] == classifiers


def test_the_hooks_are_local_and_use_the_environment_of_the_clone() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [each["repo"] for each in repositories] == ["local"]
    assert all(".venv/bin/" in hook["entry"] for hook in repositories[0]["hooks"])
