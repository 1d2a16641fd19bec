"""Version of the users' code in a process: the commit that its folder was checked out at.

It is read from git's own files, because a machine that runs jobs need not have git. Changes since the commit do not
show here. They show in the digests of the definitions (``jobs.catalogue.resolve.digest``).
"""

from pathlib import Path

#: Characters of a commit's name that are kept: enough to be unique.
COMMIT_CHARACTERS = 12


def commit_of(folder: Path) -> str | None:
    """Return the commit of the checkout that contains the folder, or None if there is none."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return _commit(git)
        if git.is_file():
            return _commit(place / _text(git).removeprefix("gitdir:").strip())
    return None


def _commit(git: Path) -> str | None:
    head = _text(git / "HEAD")
    name = head.removeprefix("ref:").strip()
    commit = head if name == head else _named(git, name)
    return commit[:COMMIT_CHARACTERS] or None


def _named(git: Path, name: str) -> str:
    """Return the commit of a branch. The repository that the checkout belongs to has it in a file of its own, or in a
    file with others."""
    common = git / _text(git / "commondir")
    if commit := _text(git / name) or _text(common / name):
        return commit
    packed = (line.split() for line in _text(common / "packed-refs").splitlines())
    return next((words[0] for words in packed if words[1:] == [name]), "")


def _text(path: Path) -> str:
    """Return the text of a file, or an empty text if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
