"""Keyspace of each app."""

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.app import App
from sluice.planner.keyspaces.chunks.chunk_keys import ChunkKeyspace
from sluice.planner.keyspaces.partitions.partition_keys import PartitionKeyspace
from sluice.planner.keyspaces.protocol import Keyspace
from sluice.planner.keyspaces.template_keys import TemplateKeyspace


def keyspace_of(app: App, catalogue: Catalogue) -> Keyspace:
    """Return the keyspace that reads this app's keys. It is determined by the app's definition."""
    if app.partitioning:
        return PartitionKeyspace()
    return ChunkKeyspace() if app.chunking else TemplateKeyspace(catalogue)
