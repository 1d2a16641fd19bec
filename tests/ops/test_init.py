"""The projects that ``sluice init`` creates, and the files that it adds to a folder with others.

``test_templates.py`` runs the projects of the other templates.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import sluice.ops.starter
from sluice.ops.cli.parser import parse
from sluice.ops.console.server import LISTEN
from sluice.ops.starter import TEMPLATES, files
from tests.ops.typist import ROOT, Typist

NAMES = {".gitignore", "README.md", "pipeline.py", "sluice.toml", "test_pipeline.py"}
RUFF = Path(sys.executable).with_name("ruff")


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    return Typist(tmp_path)


@pytest.fixture
def shop(typist: Typist) -> Typist:
    """Return a project of the default template."""
    typist.asks("init", "shop")
    return Typist(typist.folder / "shop")


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a project of each template, named like the template."""
    folder = tmp_path_factory.mktemp("projects")
    for template in TEMPLATES:
        Typist(folder).asks("init", template, "--template", template)
    return folder


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_project_has_all_files_of_its_template(projects: Path, template: str) -> None:
    more = {"web.py"} if template == "service" else set()
    assert {path.name for path in (projects / template).iterdir()} == NAMES | more
    assert dict(files(template)) == {path.name: path.read_text() for path in (projects / template).iterdir()}


def test_each_text_of_the_templates_is_stored_once() -> None:
    texts = [path.read_text() for path in Path(sluice.ops.starter.__file__).parent.rglob("*.txt")]
    assert len(texts) > 15
    assert len(set(texts)) == len(texts)


def require_passing_tests(project: Typist) -> str:
    """Run the tests of a project, and return their output."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_of_the_default_project_pass(shop: Typist) -> None:
    assert "3 passed" in require_passing_tests(shop)


def test_the_default_project_runs_without_any_options(shop: Typist) -> None:
    ran = shop.asks("run", "report", "2026-11-20")
    assert ran["jobs"] == {"succeeded": 4}
    assert (shop.folder / "sales" / "20261120.txt").read_text() == "3 shops sold 391\n"
    assert shop.asks("up", "--drain")["ended"] == "drained"
    assert [each["schedule"] for each in shop.asks("schedules", "next")[:1]] == ["nightly"]
    assert shop.types("why", "report", "2026-11-20").code == 0
    assert shop.types("doctor").code == 0


def _checked(*command: str | Path, folder: Path, **settings: str) -> str:
    """Run a checker. Return its output if it has found faults, or an empty text."""
    environment = Typist(folder).environment | settings
    done = subprocess.run(
        [*command], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize("check", [("check", "--extend-ignore", "S,I,PLC"), ("format", "--diff")])
def test_the_projects_pass_our_ruff_rules(projects: Path, check: Sequence[str]) -> None:
    if not RUFF.exists():
        pytest.skip("ruff is not installed beside Python")
    config = ROOT / "pyproject.toml"
    assert _checked(RUFF, *check, "--no-cache", "--config", config, projects, folder=projects) == ""


def test_the_projects_pass_mypy_in_strict_mode(projects: Path, tmp_path: Path) -> None:
    command = (
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir",
        tmp_path,
        ".",
    )
    faults = {name: _checked(*command, folder=projects / name, MYPYPATH=str(ROOT)) for name in TEMPLATES}
    assert faults == dict.fromkeys(TEMPLATES, "")


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_answer_names_the_next_commands(typist: Typist, template: str) -> None:
    said = typist.types("init", "my shop", "--template", template).out
    assert "Written: README.md, .gitignore, pipeline.py, sluice.toml, test_pipeline.py" in said
    assert "\ncd 'my shop'\nsluice " in said
    rows = {line.partition("  ")[0]: line for line in said.splitlines()}
    assert rows["sluice up"].endswith(f"with the console at http://{LISTEN}")
    assert "run the tests" in rows["python -m pytest"]


def test_the_help_lists_the_templates(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["init", "--help"])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {f"{name} {sentence}" for name, sentence in TEMPLATES.items()} <= {*lines}
    assert "template of the project; default: minimal" in lines


def test_an_unknown_template_is_refused(typist: Typist) -> None:
    said = typist.types("init", "--template", "other")
    assert said.code == 2
    assert "minimal" in said.err
    assert [*typist.folder.iterdir()] == []


def test_missing_files_are_added_and_existing_files_are_kept(typist: Typist) -> None:
    typist.write("README.md", "mine")
    typist.write("sluice.toml", files()["sluice.toml"])
    document = typist.asks("init")
    assert document["written"] == [".gitignore", "pipeline.py", "test_pipeline.py"]
    assert document["kept"] == ["README.md", "sluice.toml"]
    assert {path.name for path in typist.folder.iterdir()} == NAMES
    assert (typist.folder / "README.md").read_text() == "mine"


def test_without_a_missing_file_nothing_is_written(typist: Typist) -> None:
    typist.asks("init", "shop")
    said = typist.types("init", "shop")
    assert said.code == 0
    assert said.out.startswith(
        "Kept unchanged: README.md, .gitignore, pipeline.py, sluice.toml, test_pipeline.py.\n"
    )
    assert "No file is missing, so nothing was written." in said.out
    assert "sluice run report 2026-11-20" in said.out


def test_the_answer_names_the_existing_files_that_the_template_does_not_fit(typist: Typist) -> None:
    for name in ("pipeline.py", ".gitignore"):
        typist.write(name, "# mine\n")
    said = typist.types("init").out
    assert "test_pipeline.py is for the template's pipeline.py. Adapt it to yours." in said
    assert "Add .sluice/, the folder of the embedded ledger, to your .gitignore." in said
    assert "sluice apps show" in said
    assert "sluice run report" not in said
    other = typist.folder / "other"
    other.mkdir()
    (other / "sluice.toml").write_text('apps = ["mine.py"]\n')
    assert "Add pipeline.py to apps in your sluice.toml." in typist.types("init", "other").out


def test_existing_settings_that_fit_need_no_change(typist: Typist) -> None:
    typist.write("sluice.toml", 'apps = ["mine.py", "pipeline.py"]\n')
    typist.write(".gitignore", ".sluice/\n*.log\n")
    said = typist.types("init").out
    assert "Kept unchanged: .gitignore, sluice.toml." in said
    assert "Add " not in said


def test_a_python_project_gets_no_readme_and_no_gitignore(typist: Typist) -> None:
    typist.write("pyproject.toml", "")
    document = typist.asks("init")
    assert document["written"] == ["pipeline.py", "sluice.toml", "test_pipeline.py"]
    assert document["left_out"] == ["README.md", ".gitignore"]
    assert {path.name for path in typist.folder.iterdir()} == {"pyproject.toml", *document["written"]}
    said = typist.types("init").out
    assert "Left out, because the folder has a pyproject.toml: README.md, .gitignore." in said


def test_links_and_folders_are_kept(typist: Typist) -> None:
    (typist.folder / "pipeline.py").symlink_to("missing.py")
    (typist.folder / "README.md").mkdir()
    assert typist.asks("init")["kept"] == ["README.md", "pipeline.py"]
    assert not (typist.folder / "missing.py").exists()


@pytest.mark.parametrize("folder", ["notes.txt", "notes.txt/shop"])
def test_a_file_in_place_of_the_folder_is_an_error(typist: Typist, folder: str) -> None:
    typist.write("notes.txt", "mine")
    said = typist.types("init", folder)
    assert said.code == 2
    assert "The project cannot be created" in said.err
    assert (typist.folder / "notes.txt").read_text() == "mine"
