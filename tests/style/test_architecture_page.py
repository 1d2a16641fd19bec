"""Files, functions, layers and tasks in the pages about the code: they exist, and none is missing."""

import re
from pathlib import Path

from tests.style.layers import LAYERS_OF_LEDGER

ROOT = Path(__file__).parents[2]
#: The explanation, the map of the code, and the reasons.
PAGES = ("architecture.md", "code.md", "design.md")
PAGE = "\n".join((ROOT / "docs" / name).read_text() for name in PAGES)
#: Tasks for which ``code.md`` must name the files to change.
TASKS = {
    "definitions in python",
    "coroutines",
    "claim",
    "record an outcome",
    "judge",
    "bubble down",
    "bubble up",
    "lease expiry",
    "cancel",
    "retry",
    "a schedule firing",
    "fair share of tenants",
    "quotas of tenants",
    "chunk planning",
    "partition planning",
    "saga journal",
    "pools",
    "pruning",
    "breaker",
    "notification",
    "pause",
    "priority inheritance",
}
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"`([^`\s]+(?:\.py|/))`")
_FUNCTION = re.compile(r"`([^`\s]+\.py)`\s+`(\w+)`")
_TABLE = re.compile(r"^## Where do I change X$(.*?)^## ", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| ([^|]+) \| `[^`\s]+\.py`", re.MULTILINE)

TEXT = _FENCED.sub("", PAGE)


def test_each_path_exists() -> None:
    paths = set(_PATH.findall(TEXT))
    assert len(paths) > len(TASKS)
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_each_function_that_follows_a_file_is_in_it() -> None:
    functions = {(path, name) for path, name in _FUNCTION.findall(TEXT) if (ROOT / path).exists()}
    assert functions
    assert sorted((path, name) for path, name in functions if not _defines(path, name)) == []


def test_the_table_names_a_file_for_each_task() -> None:
    table = _TABLE.search(TEXT)
    assert table, "the heading of the table is missing"
    assert {task.lower() for task in _ROW.findall(table[1])} == TASKS


def test_the_table_has_the_layers_of_the_ledger_with_the_highest_first() -> None:
    table = TEXT.partition("| Layer of the ledger |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()[2:]]
    assert [sorted(parts) for parts in reversed(rows)] == [sorted(parts) for parts in LAYERS_OF_LEDGER]


def _defines(path: str, name: str) -> bool:
    return re.search(rf"^ *def {name}\(", (ROOT / path).read_text(), re.MULTILINE) is not None
