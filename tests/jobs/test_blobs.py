"""Listing, reading and removal of blobs in each kind of store."""

import os
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest

from sluice.jobs.blobs import BlobStore, BlobsUnavailable
from sluice.jobs.runners.output_blobs import is_output


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_a_stored_blob_is_listed_with_its_time_until_it_is_removed(tmp_path: Path, kind: str) -> None:
    store = BlobStore(str(tmp_path) if kind == "folder" else f"memory://{uuid4()}")
    names = {store.put(f"a/t/1-{kept}", BytesIO(b"printed")) for kept in ("output", "result")}
    found = {each.name: each.at for each in store.stored()}
    assert found.keys() == names
    assert all(datetime.now(UTC) - at < timedelta(minutes=1) for at in found.values())
    assert all(map(is_output, names))
    gone, left = sorted(names)
    store.remove(gone)
    assert [each.name for each in store.stored()] == [left]
    store.remove(gone)


def test_removing_the_last_blob_of_a_folder_removes_the_folder(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path))
    first, second = (store.put("a/t/1-output", BytesIO(b"printed")) for _ in range(2))
    store.remove(first)
    assert (tmp_path / "a" / "t").is_dir()
    store.remove(second)
    assert not (tmp_path / "a" / "t").exists()


def test_the_error_of_an_unavailable_store_hides_its_password() -> None:
    store = BlobStore("nosuch://me:s3cr3t@host/x")
    for ask in (lambda: store.remove("a/t/1-output-x"), lambda: list(store.stored())):
        with pytest.raises(BlobsUnavailable, match="could not be") as caught:
            ask()
        assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "report.csv",
        "a/t/1-output",
        "a/1-output-" + 32 * "0",
        "a/t/x-output-" + 32 * "0",
        "a/t/1-log-" + 32 * "0",
    ],
)
def test_other_files_in_a_store_do_not_count_as_outputs(name: str) -> None:
    assert not is_output(name)


HEX = 32 * "0"


@pytest.mark.parametrize(
    "name",
    [
        "../victim",
        f"../1-output-{HEX}",
        f"a/../../1-output-{HEX}",
        f"../../1-output-{HEX}",
        f"a/./1-output-{HEX}",
        f"/etc/1-output-{HEX}",
        f"a//1-output-{HEX}",
        f"a/t\0/1-output-{HEX}",
        f"a/t/1-output-{HEX}\n",
        "../../../../proc/self/environ",
        "",
    ],
)
@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_an_invalid_blob_name_is_neither_read_nor_removed(tmp_path: Path, name: str, kind: str) -> None:
    inside = tmp_path / "outside" / "store"
    inside.mkdir(parents=True)
    victims = [tmp_path / "victim", *(tmp_path / place / f"1-output-{HEX}" for place in ("", "outside"))]
    for victim in victims:
        victim.write_text("secret")
    store = BlobStore(str(inside) if kind == "folder" else f"memory://{uuid4()}")
    assert not is_output(name)
    for ask in (lambda: [*store.read(name)], lambda: store.remove(name)):
        with pytest.raises(BlobsUnavailable, match="this is no valid name of a blob"):
            ask()
    assert [victim.read_text() for victim in victims] == ["secret"] * 3


@pytest.mark.parametrize("linked", ["a", "a/t", "a/t/1-output"])
def test_a_symlink_in_the_store_reaches_no_file_outside_of_it(tmp_path: Path, linked: str) -> None:
    inside, outside = tmp_path / "store", tmp_path / "outside"
    name = f"a/t/1-output-{HEX}"
    link = inside / (name if linked.endswith("output") else linked)
    target = outside / name.removeprefix(linked).lstrip("/") if linked in ("a", "a/t") else outside
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("secret")
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    store = BlobStore(str(inside))
    with pytest.raises(BlobsUnavailable, match="could not be read"):
        list(store.read(name))
    assert name not in [each.name for each in store.stored() if linked != "a/t/1-output"]
    store.remove(name)
    assert target.read_text() == "secret"


def test_the_store_itself_may_be_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "real")
    store = BlobStore(str(tmp_path / "store"))
    name = store.put("a/t/1-output", BytesIO(b"printed"))
    assert b"".join(store.read(name)) == b"printed"
    store.remove(name)
    assert list(store.stored()) == []


def test_a_named_pipe_in_the_place_of_a_blob_does_not_block_reading(tmp_path: Path) -> None:
    name = f"a/t/1-output-{HEX}"
    (tmp_path / "a" / "t").mkdir(parents=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(BlobsUnavailable, match="it is not a regular file"):
        list(BlobStore(str(tmp_path)).read(name))


def test_the_folder_of_a_new_store_is_accessible_to_its_user_only(tmp_path: Path) -> None:
    BlobStore(str(tmp_path / "home" / "blobs")).put("a/t/1-output", BytesIO(b"printed"))
    assert (tmp_path / "home" / "blobs").stat().st_mode & 0o777 == 0o700
