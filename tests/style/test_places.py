"""Failpoints: the code reaches each of them at exactly one place, and importing the code arms none."""

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from sluice.jobs.observe.failpoints import (
    PLACES,
    CommitPoints,
    CrashOrder,
    Failpoint,
    TransactionKind,
    read_crash,
)
from tests.style.sources import ROOMS, ROOT, Source, read_sources

HERE = "jobs/observe/failpoints.py"


#: Functions that take a failpoint, or a kind of transaction, which has two failpoints.
TAKERS = {"Failpoint": {"reached"}, "TransactionKind": {"transact", "call_alone", "run_alone"}}


def named(sources: list[Source]) -> Counter[str]:
    """Return how often the code names each failpoint."""
    kinds = {name: kind for name, kind in vars(TransactionKind).items() if isinstance(kind, CommitPoints)}
    words = {point: name for name, point in PLACES.items()}
    count: Counter[str] = Counter()
    for _, node, owner in _namings(sources):
        kind = kinds.get(node.attr) if owner == "TransactionKind" else None
        count.update([words[kind.written], words[kind.committed]] if kind else [node.attr])
    return count


def unreached(sources: list[Source]) -> list[str]:
    """Return the places where the code names a failpoint without reaching it."""
    return [
        f"{source.path}:{node.lineno}: {node.attr}"
        for source, node, owner in _namings(sources)
        if not any(
            node is each
            for call in source.nodes
            if isinstance(call, ast.Call) and _called(call) in TAKERS[owner]
            for argument in call.args
            for each in ast.walk(argument)
        )
    ]


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _namings(sources: list[Source]) -> Iterator[tuple[Source, ast.Attribute, str]]:
    for source in sources:
        if source.path == HERE or not any(
            each.module == "sluice.jobs.observe.failpoints" for each in source.imports
        ):
            continue
        for node in source.nodes:
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in TAKERS
            ):
                yield source, node, node.value.id


def test_the_code_reaches_each_failpoint_at_one_place() -> None:
    sources = [
        source
        for source in read_sources()
        if source.room in ROOMS and "sluice.jobs.observe.failpoints" in source.text
    ]
    assert named(sources) == Counter(dict.fromkeys(PLACES, 1))
    assert unreached(sources) == []


def test_a_failpoint_that_is_only_named_is_found() -> None:
    wrong = Source(
        "actors/x.py",
        "from sluice.jobs.observe.failpoints import Failpoint\nprint(Failpoint.CLAIM_WRITTEN)\n",
    )
    assert unreached([wrong]) == ["actors/x.py:2: CLAIM_WRITTEN"]
    assert named([wrong]) == Counter(CLAIM_WRITTEN=1)


def test_a_kind_of_transaction_that_is_only_named_is_found() -> None:
    wrong = Source(
        "actors/x.py",
        "from sluice.jobs.observe.failpoints import TransactionKind\nprint(TransactionKind.CLAIM)\n",
    )
    assert unreached([wrong]) == ["actors/x.py:2: CLAIM"]
    assert named([wrong]) == Counter(CLAIM_WRITTEN=1, CLAIM_COMMITTED=1)


def test_each_failpoint_has_a_unique_word_and_a_sentence() -> None:
    assert len({point.word for point in PLACES.values()}) == len(PLACES)
    assert all(point.sentence.endswith(".") for point in PLACES.values())


def test_a_failpoint_is_read_with_the_number_of_the_pass_that_dies() -> None:
    assert read_crash("claim.committed@3") == CrashOrder(Failpoint.CLAIM_COMMITTED, 3)
    assert read_crash("claim.committed") == CrashOrder(Failpoint.CLAIM_COMMITTED, 1)


@pytest.mark.parametrize("text", ["", "claim", "claim.committed@", "claim.committed@0", "claim.committed@x"])
def test_a_text_that_names_no_failpoint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no failpoint|is not a whole number"):
        read_crash(text)


def test_importing_the_code_arms_no_failpoint() -> None:
    """The environment names a failpoint, but only the assembly of a process from its settings arms it."""
    code = "import sluice.actors.worker.command, sluice.ops.cli.main\n"
    code += "from sluice.jobs.observe.failpoints import PLACES, reached\n"
    code += "for point in PLACES.values():\n    reached(point)\nprint('alive')"
    environment = os.environ | {"SLUICE_FAILPOINT": "commit.begins"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr
