"""Which keyspace an app's jobs belong to."""

from sluice.jobs.app import App
from sluice.jobs.catalogue import Catalogue
from sluice.planner.chunk_keys import ChunkKeyspace
from sluice.planner.keyspace import Keyspace
from sluice.planner.partition_keys import PartitionKeyspace
from sluice.planner.template_keys import TemplateKeyspace


def keyspace_of(app: App, catalogue: Catalogue) -> Keyspace:
    """The keyspace that reads this app's keys. Others are chosen here, by what the app's definition says."""
    if app.partitioning:
        return PartitionKeyspace()
    return ChunkKeyspace() if app.chunking else TemplateKeyspace(catalogue)
