"""Which keyspace an app's jobs belong to."""

from jobs.app import App
from jobs.catalogue import Catalogue
from planner.chunk_keys import ChunkKeyspace
from planner.keyspace import Keyspace
from planner.partition_keys import PartitionKeyspace
from planner.template_keys import TemplateKeyspace


def keyspace_of(app: App, catalogue: Catalogue) -> Keyspace:
    """The keyspace that reads this app's keys. Others are chosen here, by what the app's definition says."""
    if app.partitioning:
        return PartitionKeyspace()
    return ChunkKeyspace() if app.chunking else TemplateKeyspace(catalogue)
