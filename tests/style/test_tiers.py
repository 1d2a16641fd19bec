"""Each test file belongs to exactly one tier, and each entry of the table of tiers still decides something."""

from pathlib import Path

import pytest

from tests.tiers import PATHS, ROOT, TIERS, tier

FILES = sorted(ROOT.rglob("test_*.py"))


def test_each_test_file_has_a_tier() -> None:
    assert [path.relative_to(ROOT).as_posix() for path in FILES if tier(path) not in TIERS] == []


def test_each_tier_has_tests() -> None:
    assert {tier(path) for path in FILES} == set(TIERS)


@pytest.mark.parametrize("entry", PATHS)
def test_an_entry_decides_something(entry: str) -> None:
    """Its path exists and has tests, and they would have another tier, or none, without it."""
    path = ROOT / entry
    decided = [path] if path.suffix else [each for each in FILES if each.is_relative_to(path)]
    assert path.exists(), f"tests/{entry} does not exist"
    assert decided, f"tests/{entry} has no test files"
    parent = next((str(each) for each in Path(entry).parents if str(each) in PATHS), None)
    assert parent is None or PATHS[parent] != PATHS[entry], f"{parent} says the same"
    assert any(tier(each) == PATHS[entry] for each in decided), "other entries decide every file below it"


def test_the_longest_path_decides() -> None:
    assert tier(ROOT / "ledger/test_plans.py") == "test"
    assert tier(ROOT / "ledger/test_races.py") == "check"
    assert tier(ROOT / "nowhere/test_planning.py") is None
