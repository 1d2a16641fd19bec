"""Blobs by name, below one address."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from sluice.jobs.blobs import folders
from sluice.jobs.errors import SluiceError

_CHUNK_BYTES = 1024 * 1024
#: Parts of a name begin with a letter or a digit, so that none is empty, ``.`` or ``..``.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9][A-Za-z0-9_.-]*)*-[0-9a-f]{32}")
#: Names that the services use for the time of writing.
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")


class BlobsUnavailable(SluiceError):
    """Raised if an operation of the blob store fails. A retry may help."""

    exit_code = 3


def is_name(name: str) -> bool:
    """Return whether a store could have given this name to a blob. No other name is read or removed."""
    return _NAME.fullmatch(name) is not None


class Stored(NamedTuple):
    """A blob and the time of its writing, by the clock of the store."""

    name: str
    at: datetime


class BlobStore:
    """Store at ``url``, which is a folder or an address for fsspec, for example ``s3://bucket/sluice``.

    Nothing is opened before the first blob. ``losses`` counts the blobs that could not be stored whole.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self.losses = 0

    def count_loss(self) -> None:
        """Count a blob that could not be stored whole."""
        with self._lock:
            self.losses += 1

    def put(self, place: str, content: IO[bytes]) -> str:
        """Store the content under a new name below ``place`` and return the name. A failure leaves nothing, and counts
        as a loss.
        """
        try:
            return self._put(f"{place}-{uuid4().hex}", content)
        except BlobsUnavailable:
            self.count_loss()
            raise

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of the blob in chunks."""
        with self._told_as(f"{name} could not be read"):
            _require_name(name)
            files, root = self._opened()
            with _opened_to_read(files, root, name) as source:
                while piece := source.read(_CHUNK_BYTES):
                    yield piece

    def remove(self, name: str) -> None:
        """Remove the blob. A missing one counts as removed."""
        with self._told_as(f"{name} could not be removed"):
            _require_name(name)
            files, root = self._opened()
            if _is_folder(files):
                folders.remove_file(root, name)
                return
            with suppress(FileNotFoundError):
                files.rm_file(f"{root}/{name}")

    def stored(self) -> Iterator[Stored]:
        """Yield every blob with a known time of writing, folder by folder."""
        with self._told_as("store could not be listed"):
            files, root = self._opened()
            for folder, below, found in files.walk(root, detail=True):
                for linked in [each for each, facts in below.items() if facts.get("islink")]:
                    del below[linked]  # Removed folders are not walked into.
                for word, facts in found.items():
                    at = _written_at(facts)
                    if at is not None:
                        yield Stored(f"{folder.removeprefix(root)}/{word}".strip("/"), at)

    def _put(self, name: str, content: IO[bytes]) -> str:
        with self._told_as(f"{name} could not be stored"):
            files, root = self._opened()
            path = f"{root}/{name}"
            if _is_folder(files):
                folders.make_root(root)
            try:
                with _begun(files, path) as target:
                    shutil.copyfileobj(content, target, _CHUNK_BYTES)
            except BaseException:
                with suppress(OSError):
                    files.rm_file(path)
                raise
        return name

    def _opened(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs  # noqa: PLC0415  # A tenth of a second, for few runs.

        files, root = url_to_fs(self._url)
        return files, str(root).rstrip("/")

    @contextmanager
    def _told_as(self, what: str) -> Iterator[None]:
        """Convert any exception to BlobsUnavailable. There are dozens of stores, each with its own library and
        errors.
        """
        try:
            yield
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise BlobsUnavailable(
                f"The blob {what}: {self._without_secrets(reason)}.",
                advice="Check SLUICE_BLOBS_URL, the address of the blob store, and that this process can reach it.",
            ) from None

    def _without_secrets(self, text: str) -> str:
        """Return the text without the user and password of the address, which libraries like to show."""
        user = urlsplit(self._url).netloc.rpartition("@")[0]
        return text.replace(user, "…") if user else text


def _begun(files: Any, path: str) -> Any:
    """Return the blob in its folder, open for writing.

    Another process that removes the last blob of the folder also removes the folder. That may happen between the two
    steps, so both are repeated once.
    """
    folder = path.rpartition("/")[0]
    files.makedirs(folder, exist_ok=True)
    try:
        return files.open(path, "wb")
    except FileNotFoundError:
        files.makedirs(folder, exist_ok=True)
        return files.open(path, "wb")


def _require_name(name: str) -> None:
    if not is_name(name):
        raise ValueError("this is no valid name of a blob")


def _opened_to_read(files: Any, root: str, name: str) -> Any:
    return folders.open_file(root, name) if _is_folder(files) else files.open(f"{root}/{name}", "rb")


def _is_folder(files: Any) -> bool:
    """Return whether the store is a folder on this machine."""
    named = files.protocol
    return "file" in ((named,) if isinstance(named, str) else named)


def _written_at(facts: Mapping[str, Any]) -> datetime | None:
    """Return the time of writing, or None if the store does not report it in a known form."""
    said = next((facts[word] for word in _TIMES if facts.get(word) is not None), None)
    if isinstance(said, int | float):
        return datetime.fromtimestamp(said, UTC)
    if isinstance(said, str):
        with suppress(ValueError):
            said = datetime.fromisoformat(said)
    if not isinstance(said, datetime):
        return None
    return said if said.tzinfo else said.replace(tzinfo=UTC)
