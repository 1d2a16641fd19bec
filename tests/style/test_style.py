"""The code follows all rules of style: one test reports all offences, each with its file and line."""

from collections.abc import Callable

import pytest

from tests.style import documents, layers, manners, names, purity, sizes, states
from tests.style.measures import Measured
from tests.style.sources import ROOT, Offence, Source, read_sources

Rule = Callable[[list[Source]], list[Offence]]

#: Each rule, with a file that breaks it and a similar file that does not.
RULES: dict[Rule, tuple[tuple[str, str], tuple[str, str]]] = {
    layers.rooms_are_imported_from_the_package: (
        ("tests/test_gate.py", "from ledger.sql import move\n"),
        ("tests/test_gate.py", "from tests.jobs import gate\n"),
    ),
    layers.public_names_are_for_users: (
        ("planner/bubble_up/walk.py", "from sluice import app\n"),
        ("jobs/examples/gate.py", "from sluice import app\n"),
    ),
    layers.imports_point_down: (
        ("planner/bubble_up/walk.py", "def f():\n    from sluice.ledger.database.transitions import move\n"),
        ("actors/walk.py", "from sluice.ledger.database.transitions import move\n"),
    ),
    layers.the_ledger_has_layers: (
        ("ledger/limits/pauses.py", "from sluice.ledger.lifecycle.plans import plan\n"),
        ("ledger/lifecycle/plans.py", "from sluice.ledger.limits.pauses import lock_pauses\n"),
    ),
    layers.ops_has_layers: (
        ("ops/operations/rerun.py", "from sluice.ops.cli.output import Output\n"),
        ("ops/cli/again.py", "from sluice.ops.console.server import Server\n"),
    ),
    layers.rooms_import_no_examples: (
        ("ops/demo.py", "from sluice.jobs.examples.sum import add\n"),
        ("jobs/examples/sum/__main__.py", "from sluice.jobs.examples.sum import add\n"),
    ),
    layers.third_parties_stay_in_their_rooms: (
        ("jobs/model/dependency.py", "if TYPE_CHECKING:\n    from sqlalchemy import text\n"),
        ("ledger/gate.py", "from sqlalchemy import text\n"),
    ),
    layers.modules_form_no_circles: (
        ("jobs/__init__.py", "from sluice.jobs import gate\nimport sluice.jobs\n"),
        ("jobs/__init__.py", "from sluice.jobs.model.dependency import Gate\n"),
    ),
    sizes.files_are_short: (
        ("jobs/model/dependency.py", "\n" * 601),
        ("ledger/schema/migrations/versions/0001.py", "\n" * 601),
    ),
    names.names_name_something: (
        ("jobs/model/dependency.py", "class GateManager: ...\n"),
        ("jobs/database.py", "class Managed: ...\n"),
    ),
    states.states_are_spelled_in_one_place: (
        ("ledger/lifecycle/claims.py", """SQL = f"SELECT 1 FROM job WHERE job.state IN ('failed', {x})"\n"""),
        ("ledger/lifecycle/claims.py", 'def f():\n    """It is waiting."""\n    return need.when == "failed"\n'),
    ),
    purity.the_core_is_pure: (
        ("jobs/model/dependency.py", "from datetime import datetime\nnow = datetime.now\n"),
        ("jobs/runners/gate.py", "import time\nnow = time.time\n"),
    ),
    manners.errors_are_not_swallowed: (
        ("jobs/model/dependency.py", "try:\n    f()\nexcept (Exception, OSError):\n    pass\n"),
        ("jobs/model/dependency.py", "try:\n    f()\nexcept OSError:\n    pass\n"),
    ),
    manners.only_ops_prints: (
        ("jobs/model/dependency.py", "print(1)\n"),
        ("ops/gate.py", "print(1)\n"),
    ),
    manners.exemptions_carry_a_reason: (
        ("jobs/model/dependency.py", "f()  # NOQA: S603\n".lower()),
        ("jobs/model/dependency.py", "f()  # noqa: S603  # the program is the user's own\n"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return read_sources()


#: Rules about all files together. They read only imports; each other rule reads one file at a time.
OF_THE_WHOLE = {layers.modules_form_no_circles}


def _named(rule: Rule) -> str:
    return rule.__name__


def test_the_code_keeps_all_rules_and_limits(sources: list[Source]) -> None:
    """One test, because the syntax trees of all files are needed: they take ten seconds, and 200 MB if kept."""
    offences: list[Offence] = []
    measured = Measured()
    for source in sources:
        measured.add(source)
        for rule in RULES.keys() - OF_THE_WHOLE:
            offences += rule([source])
        source.keep_imports_alone()
    for rule in OF_THE_WHOLE:
        offences += rule(sources)
    found = [*map(str, offences), *measured.complaints()]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("rule", RULES, ids=_named)
def test_the_rule_can_be_broken_and_can_be_kept(rule: Rule) -> None:
    broken, kept = RULES[rule]
    assert rule([Source(*broken)])
    assert not rule([Source(*kept)])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("ledger/limits/pauses.py", "def f():\n    from sluice.ledger.lifecycle import plans\n"),
        ("ledger/limits/pauses.py", "if TYPE_CHECKING:\n    from sluice.ledger import lifecycle\n"),
        ("ledger/limits/pauses.py", "import sluice.ledger.lifecycle.plans\n"),
        ("ledger/limits/pauses.py", "from ..lifecycle import plans\n"),
        ("ledger/schedules.py", "from sluice.ledger.reads import schedule_states\n"),
        ("ledger/keyspaces/partitions.py", "from sluice.ledger.limits import pauses\n"),
        ("ledger/database/driver.py", "from sluice.ledger.another import name\n"),
        ("ledger/another.py", ""),
    ],
)
def test_each_way_to_import_against_the_layers_of_the_ledger_is_found(path: str, text: str) -> None:
    assert layers.the_ledger_has_layers([Source(path, text)])


def test_commands_in_the_readme_exist(sources: list[Source]) -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README.md yet")
    assert not documents.missing_targets(readme.read_text(), (ROOT / "Makefile").read_text())
    if not (ROOT / "ops/cli/main.py").exists():
        pytest.skip("there is no ops/cli/main.py yet, so no command of sluice can be looked up")
    assert not documents.missing_commands(readme.read_text(), documents.commands(sources))


def test_a_readme_can_be_wrong() -> None:
    readme = """
make sure to type `make tset`.
```python
sluice is not a command here
```
```sh
make demo PYTHON=python3.12 # and wait
sluice --json db upgrade
sluice db upgarde # soon
```
"""
    assert documents.missing_targets(readme, "demo: .venv\ntest:\n") == ["tset"]
    assert documents.missing_commands(readme, {("db", "upgrade"), ("up",)}) == ["sluice db upgarde # soon"]


def test_no_file_names_a_machine() -> None:
    files = documents.files_of(ROOT)
    if files is None:
        pytest.skip("this is not a git checkout, so the files that belong to it are unknown")
    offences = [
        offence
        for path in files
        for offence in documents.names_of_machines(
            path.relative_to(ROOT).as_posix(), path.read_text("utf8", "replace")
        )
    ]
    assert not offences, "\n".join(["", *map(str, offences)])


def test_a_file_can_name_a_machine() -> None:
    assert documents.names_of_machines("a", "/WORK/shared".lower())
    assert not documents.names_of_machines("a", "the folder ~/WORK/ or {home}/WORK/".lower())
