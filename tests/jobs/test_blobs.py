"""Blobs are listed and removed, wherever they are."""

from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest

from jobs.blobs import BlobStore, BlobsUnavailable
from jobs.runners.keeping import is_output


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_what_is_stored_is_listed_with_its_time_until_it_is_removed(tmp_path: Path, kind: str) -> None:
    store = BlobStore(str(tmp_path) if kind == "folder" else f"memory://{uuid4()}")
    names = {store.put(f"a/t/{claim}-output", BytesIO(b"printed")) for claim in (1, 2)}
    found = {each.name: each.at for each in store.stored()}
    assert found.keys() == names
    assert all(datetime.now(UTC) - at < timedelta(minutes=1) for at in found.values())
    assert all(map(is_output, names))
    gone, left = sorted(names)
    store.remove(gone)
    assert [each.name for each in store.stored()] == [left]
    store.remove(gone)


def test_the_folder_of_a_blob_goes_with_the_last_one_in_it(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path))
    first, second = (store.put("a/t/1-output", BytesIO(b"printed")) for _ in range(2))
    store.remove(first)
    assert (tmp_path / "a" / "t").is_dir()
    store.remove(second)
    assert not (tmp_path / "a" / "t").exists()


def test_a_store_that_does_not_answer_says_so_without_its_password() -> None:
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
def test_what_others_keep_in_a_store_is_not_taken_for_an_output(name: str) -> None:
    assert not is_output(name)
