"""The blob store: what is too large for the ledger, in a folder or with any service that fsspec knows.

Owns how a blob is named, written, read and removed. The ledger keeps the name alone, so a store can be moved by copying
it. A blob is written once and never changed. Knows nothing of jobs: what is stored, for how long, and what follows
where that fails, is for whoever asks.
"""

from sluice.jobs.blobs.store import BlobStore, BlobsUnavailable, Stored, is_name

__all__ = ["BlobStore", "BlobsUnavailable", "Stored", "is_name"]
