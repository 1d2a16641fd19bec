"""The blob store: values too large for the ledger, in a folder or in any service that fsspec supports.

It owns how a blob is named, written, read and removed. The ledger stores only the name, so a store can be moved by
copying it. A blob is written once and never changed. The store has no knowledge of jobs: the callers decide which
blobs are stored, for how long, and how a failure is handled.
"""

from sluice.jobs.blobs.store import BlobStore, BlobsUnavailable, Stored, is_name

__all__ = ["BlobStore", "BlobsUnavailable", "Stored", "is_name"]
