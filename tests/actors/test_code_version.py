"""The commit that a folder was checked out at, compared with the commit that git reports."""

import os
import subprocess
from pathlib import Path

import pytest

from sluice.actors.code_version import COMMIT_CHARACTERS, commit_of
from sluice.actors.settings.settings import read_settings


def _git(folder: Path, *words: str) -> str:
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
    who = [f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=settings | dict.fromkeys(who, "nobody"),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for message in ("one", "two"):
        _git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return folder


def _head(folder: Path) -> str:
    return _git(folder, "rev-parse", "HEAD")[:COMMIT_CHARACTERS]


def test_the_commit_is_found_on_a_branch(checkout: Path) -> None:
    assert commit_of(checkout) == _head(checkout)


def test_the_commit_is_found_from_a_folder_inside(checkout: Path) -> None:
    inside = checkout / "jobs" / "nightly"
    inside.mkdir(parents=True)
    assert commit_of(inside) == _head(checkout)


def test_the_commit_is_found_with_a_detached_head(checkout: Path) -> None:
    _git(checkout, "checkout", "--quiet", "--detach", "HEAD~1")
    assert commit_of(checkout) == _head(checkout)


def test_the_commit_is_found_on_a_packed_branch(checkout: Path) -> None:
    _git(checkout, "pack-refs", "--all")
    assert commit_of(checkout) == _head(checkout)


def test_the_commit_is_found_in_a_second_worktree(checkout: Path, tmp_path: Path) -> None:
    _git(checkout, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"), "HEAD~1")
    assert commit_of(tmp_path / "side") == _head(tmp_path / "side") != _head(checkout)


def test_there_is_no_commit_before_the_first_one_or_outside_a_checkout(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None
    _git(tmp_path, "init", "--quiet")
    assert commit_of(tmp_path) is None


def test_the_setting_overrides_the_commit(checkout: Path) -> None:
    assert read_settings({}, folder=checkout).code_version == _head(checkout)
    assert read_settings({"SLUICE_CODE_VERSION": "v7"}, folder=checkout).code_version == "v7"
