"""Names of apps or schedules, as far as they can be read from the definitions without running any code.

    python -I -S names.py apps|schedules [SOURCE]…

The user waits for the result while typing, so this is a separate program that imports nothing of Sluice. It reads the
sources of ``--apps``, or else the sources in SLUICE_APPS, ``.env`` or ``sluice.toml``. It silently skips sources that
it cannot read.
"""

import ast
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: Folder of the package's own modules, including its examples.
_HOME = Path(__file__).parents[3]
#: Keys at the top of a document that are not apps.
_OTHERS = {"schedules", "default_job_id", "default_work_ids", "confs", "conf_planner"}
_YAML_NAME = re.compile(r"^[\"']?([A-Za-z][\w.-]*)[\"']?:", re.MULTILINE)
_YAML_SCHEDULES = re.compile(r"^schedules:\n((?:[ \t]+.*\n|\n)*)", re.MULTILINE)
_YAML_INNER = re.compile(r"^([ \t]+)[\"']?([\w.:-]+)[\"']?:", re.MULTILINE)
_YAML_ID = re.compile(r"\bid:\s*[\"']?([\w.:-]+)")


def names(kind: str, sources: list[str]) -> list[str]:
    found: set[str] = set()
    for source in sources or _configured():
        try:
            apps, schedules = _of_source(source)
        except (OSError, ValueError, SyntaxError):
            continue
        found |= schedules if kind == "schedules" else apps
    return sorted(found)


def _configured() -> list[str]:
    text = os.environ.get("SLUICE_APPS") or _dotenv() or _toml()
    return [part.strip() for part in text.split(",") if part.strip()]


def _dotenv() -> str:
    try:
        text = Path(".env").read_text()
    except OSError:
        return ""
    found = re.findall(r"^\s*(?:export\s+)?SLUICE_APPS\s*=\s*(.*)$", text, re.MULTILINE)
    return found[-1].strip().strip("'\"") if found else ""


def _toml() -> str:
    try:
        text = Path("sluice.toml").read_text()
    except OSError:
        return ""
    import tomllib  # noqa: PLC0415 - it takes longer to import than most files take to read

    try:
        apps = tomllib.loads(text).get("apps", "")
    except tomllib.TOMLDecodeError:
        return ""
    return ",".join(map(str, apps)) if isinstance(apps, list) else str(apps)


def _of_source(source: str) -> tuple[set[str], set[str]]:
    """Return the names of apps and the names of schedules. Sources on a server are not read."""
    path = Path(source)
    if "://" in source:
        return set(), set()
    if path.suffix in (".yaml", ".yml"):
        return _of_yaml(path.read_text())
    if path.suffix == ".json":
        return _of_document(json.loads(path.read_text()))
    if path.suffix == ".toml":
        import tomllib  # noqa: PLC0415 - as above, it takes long

        return _of_document(tomllib.loads(path.read_text()))
    files = (
        [path] if path.suffix == ".py" else sorted(path.glob("*.py")) if path.is_dir() else _module(source)
    )
    apps: set[str] = set()
    schedules: set[str] = set()
    for file in files:
        more = _of_python(file)
        apps |= more[0]
        schedules |= more[1]
    return apps, schedules


def _of_document(document: object) -> tuple[set[str], set[str]]:
    if not isinstance(document, dict):
        return set(), set()
    schedules = document.get("schedules", {})
    if isinstance(schedules, list):
        ids = {str(each["id"]) for each in schedules if isinstance(each, dict) and "id" in each}
    else:
        ids = set(schedules) if isinstance(schedules, dict) else set()
    return set(document) - _OTHERS, ids


def _of_yaml(text: str) -> tuple[set[str], set[str]]:
    """Read YAML in its usual layout: a name at the start of a line, and its options indented below it."""
    below = "".join(_YAML_SCHEDULES.findall(text))
    inner = _YAML_INNER.findall(below)
    least = min((len(margin) for margin, _ in inner), default=0)
    ids = {name for margin, name in inner if len(margin) == least and not below.lstrip().startswith("-")}
    return set(_YAML_NAME.findall(text)) - _OTHERS, ids | set(_YAML_ID.findall(below))


def _module(name: str) -> Iterator[Path]:
    """Yield the file of a module, if it is below the current folder or the folder of the package."""
    for place in (Path(), _HOME):
        stem = place.joinpath(*name.split("."))
        for file in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
            if file.is_file():
                yield file
                return


def _of_python(path: Path) -> tuple[set[str], set[str]]:
    apps: set[str] = set()
    schedules: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            made = [each for each in node.decorator_list if _calls(each, "app", "saga")]
            apps |= {_word(each, "name") or node.name for each in made}
        elif isinstance(node, ast.Assign):
            if any(isinstance(target, ast.Name) and target.id == "STAU_CONFIG" for target in node.targets):
                apps.add(path.stem)
            if _calls(node.value, "schedule"):
                schedules.add(_word(node.value, "id"))
    return apps, schedules - {""}


def _calls(node: ast.expr, *names: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return getattr(function, "id", getattr(function, "attr", "")) in names


def _word(call: ast.expr, word: str) -> str:
    """Return the constant value of a keyword argument as text. Empty if it has none."""
    for each in call.keywords if isinstance(call, ast.Call) else ():
        if each.arg == word and isinstance(each.value, ast.Constant):
            return str(each.value.value)
    return ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(names(sys.argv[1], sys.argv[2:])))
