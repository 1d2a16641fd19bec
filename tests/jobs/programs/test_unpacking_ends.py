"""Archives that take long to unpack. A stop ends the unpacking early."""

import threading
from itertools import count
from pathlib import Path

import pytest

from sluice.jobs.programs.archive.link_targets import Parts, check_link
from sluice.jobs.programs.archive.unpack import unpack
from sluice.jobs.programs.errors import FetchStopped
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.names import DEPTH_MAX
from sluice.jobs.programs.source import Form, Rules
from tests.jobs.programs.archives import RUN_SH, Member, compressed, tar_of


def test_a_stop_ends_the_check_of_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, looked_at = threading.Event(), []

    def look(at: Parts, *words: object) -> None:
        looked_at.append(at)
        stop.set()

    monkeypatch.setattr("sluice.jobs.programs.archive.members.check_link", look)
    links = [Member(f"link{number}", b"run.sh", "symlink") for number in range(3)]
    (tmp_path / "a.tar").write_bytes(tar_of([RUN_SH, *links]))
    with pytest.raises(FetchStopped):
        unpack(tmp_path / "a.tar", "tar", tmp_path / "tree", Rules(), Patience(stop, 60))
    assert looked_at == [("link0",)]


class _Later:
    """Stop event that is set after a number of checks."""

    def __init__(self, looks: int) -> None:
        self._left = count(looks, -1)

    def is_set(self) -> bool:
        return next(self._left) < 0


@pytest.mark.parametrize("form", ["tar.gz", "tar.bz2", "tar.xz"])
def test_a_stop_ends_the_search_through_empty_streams(tmp_path: Path, form: Form) -> None:
    (tmp_path / "archive").write_bytes(compressed(form, b"") * 100)
    with pytest.raises(FetchStopped):
        unpack(tmp_path / "archive", form, tmp_path / "tree", Rules(), Patience(_Later(50), 60))


def test_a_long_chain_of_links_is_checked_cheaply() -> None:
    """The chain has 35 links of 500 names each. No name is looked up that is deeper than a member can be."""

    class Links(dict[Parts, str]):
        def get(self, at: Parts, default: object = None) -> object:  # type: ignore[override] # called in one way
            assert len(at) <= DEPTH_MAX
            return super().get(at, default)

    links = Links({(f"l{number}",): f"l{number + 1}/" + "a/" * 500 for number in range(35)})
    check_link(("l0",), links[("l0",)], links)
