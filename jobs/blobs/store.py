"""Blobs by their names, below one address."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any
from urllib.parse import urlsplit
from uuid import uuid4

from jobs.errors import SluiceError

_CHUNK_BYTES = 1024 * 1024


class BlobsUnavailable(SluiceError):
    """The blob store does not do what it is asked to; trying again may help."""

    exit_code = 3


class BlobStore:
    """``url`` is a folder, or what fsspec takes: ``s3://bucket/sluice``. Nothing is opened before the first blob."""

    def __init__(self, url: str) -> None:
        self._url = url

    def put(self, place: str, content: IO[bytes]) -> str:
        """Store all of it under a new name below ``place``; the name. Nothing is left where that fails."""
        name = f"{place}-{uuid4().hex}"
        with self._told_as(f"{name} could not be stored"):
            files, root = self._opened()
            path = f"{root}/{name}"
            files.makedirs(path.rpartition("/")[0], exist_ok=True)
            try:
                with files.open(path, "wb") as target:
                    shutil.copyfileobj(content, target, _CHUNK_BYTES)
            except BaseException:
                with suppress(OSError):
                    files.rm_file(path)
                raise
        return name

    def read(self, name: str) -> Iterator[bytes]:
        """The blob, piece by piece."""
        with self._told_as(f"{name} could not be read"):
            files, root = self._opened()
            with files.open(f"{root}/{name}", "rb") as source:
                while piece := source.read(_CHUNK_BYTES):
                    yield piece

    def _opened(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs  # noqa: PLC0415  # A tenth of a second, for few runs.

        files, root = url_to_fs(self._url)
        return files, str(root).rstrip("/")

    @contextmanager
    def _told_as(self, what: str) -> Iterator[None]:
        """A store may raise anything: there are dozens, each with a library of its own."""
        try:
            yield
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise BlobsUnavailable(
                f"The blob {what}: {self._without_secrets(reason)}.",
                advice="SLUICE_BLOBS_URL says where blobs are.",
            ) from None

    def _without_secrets(self, text: str) -> str:
        """An address may hold a password, and libraries like to show addresses."""
        user = urlsplit(self._url).netloc.rpartition("@")[0]
        return text.replace(user, "…") if user else text
