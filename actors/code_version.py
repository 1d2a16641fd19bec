"""Which version of the users' code a process has: the commit that its folder was checked out at.

Read from git's own files, for a machine that runs jobs need not have git. What was changed since the commit does not
show here; it shows in the digests of the definitions (``jobs.catalogue.digest``).
"""

from pathlib import Path

#: Enough of a commit's name to tell it from all others.
COMMIT_CHARACTERS = 12


def commit_of(folder: Path) -> str | None:
    """The commit of the checkout that the folder is in; None where it is in none."""
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
    """A branch of a checkout is kept by the repository that it belongs to, in a file of its own or among others."""
    common = git / _text(git / "commondir")
    if commit := _text(git / name) or _text(common / name):
        return commit
    packed = (line.split() for line in _text(common / "packed-refs").splitlines())
    return next((words[0] for words in packed if words[1:] == [name]), "")


def _text(path: Path) -> str:
    """Empty where there is no such file."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
