"""The projects of the templates of ``sluice init``: their own tests, and the commands of their READMEs.

``test_init.py`` has the tests of the default template.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ops.starter import DEFAULT, TEMPLATES, commands
from tests.homes import started_ledger
from tests.ops.test_init import require_passing_tests
from tests.ops.typist import Typist
from tests.private_servers import free_port

PORT = "8080"


def _project(folder: Path, template: str) -> Typist:
    Typist(folder).asks("init", "project", "--template", template)
    return Typist(folder / "project")


@contextmanager
def _running(folder: Path, template: str) -> Iterator[Typist]:
    """Yield a project with an embedded ledger that keeps running, as while ``sluice up`` runs."""
    project = _project(folder, template)
    home = project.folder / ".sluice"
    with started_ledger(home) as url, closing(Ledger(url, connections=1)) as ledger:
        project.ledger = ledger
        yield project


def _of_sluice(template: str) -> Iterator[list[str]]:
    """Yield the words of each ``sluice`` command of a README that ends by itself."""
    for command, _ in commands(template):
        program, *words = shlex.split(command)
        if program == "sluice" and words != ["up"]:
            yield words


@pytest.mark.parametrize("template", [name for name in TEMPLATES if name != DEFAULT])
def test_the_tests_of_the_project_pass(tmp_path: Path, template: str) -> None:
    assert " passed" in require_passing_tests(_project(tmp_path, template))


@pytest.mark.parametrize("template", ["minimal", "partitions", "chunks"])
def test_the_commands_of_the_readme_succeed(tmp_path: Path, template: str) -> None:
    with _running(tmp_path, template) as project:
        outcomes = {shlex.join(words): project.types(*words).code for words in _of_sluice(template)}
    assert len(outcomes) >= 4
    assert outcomes == dict.fromkeys(outcomes, 0)


def test_a_second_delivery_of_a_partition_makes_only_the_affected_days_again(tmp_path: Path) -> None:
    with _running(tmp_path, "partitions") as project:
        answers = [(words[0], project.asks(*words)) for words in _of_sluice("partitions")]
    assert [answer["jobs"] for word, answer in answers if word == "run"] == [
        {"succeeded": 14},
        {"succeeded": 2},
    ]


def test_an_order_of_the_saga_waits_for_its_approval_and_succeeds(tmp_path: Path) -> None:
    after = {"submit": State.SUSPENDED, "resume": State.SUCCEEDED}
    with _running(tmp_path, "saga") as project, project.starts("up", "--no-console"):
        for words in _of_sluice("saga"):
            said = project.types(*words)
            assert said.code == 0, said.err
            if words[0] in after:
                project.waits_until("order", "ann_lamp", after.pop(words[0]))
    assert after == {}


def test_the_web_service_waits_for_a_report_and_looks_it_up(tmp_path: Path) -> None:
    curl = [shlex.split(command)[-1] for command, _ in commands("service") if command.startswith("curl")]
    port = str(free_port())
    wait, look_up = (target.replace(PORT, port) for target in curl)
    with _running(tmp_path, "service") as project, project.starts("up", "--no-console"), _web(project, port):
        with urlopen(Request(wait, method="POST"), timeout=60) as answer:
            assert json.load(answer)["report"]["total"] == 391
        with urlopen(look_up, timeout=60) as answer:
            assert json.load(answer)["state"] == "succeeded"
        assert project.types("why", "report", "2026-11-20").code == 0


@contextmanager
def _web(project: Typist, port: str) -> Iterator[None]:
    """Serve the web service of a project on this port during the block."""
    web = project.folder / "web.py"
    assert PORT in web.read_text()
    web.write_text(web.read_text().replace(PORT, port))
    with subprocess.Popen(
        [sys.executable, "web.py"],
        cwd=project.folder,
        env=project.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as service:
        try:
            assert service.stderr
            assert f"http://127.0.0.1:{port}" in service.stderr.readline()
            yield
        finally:
            service.terminate()
