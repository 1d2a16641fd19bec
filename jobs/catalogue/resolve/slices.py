"""Second dimensions of tables, and the slices of a table that each slice of a reader needs.

The dimension of a table belongs to the app that fills it. For an external table a reader defines it, and two readers
must not define different dimensions. If both tables have the same dimension, the slices of a value belong together. If
only the table that is read has it, or if the reader has ``by: all``, every slice of it is read.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from sluice.jobs.catalogue.errors import At
from sluice.jobs.catalogue.fields.draft import Draft, Reading
from sluice.jobs.keys.partitions import Dimension, TableDependency


class Dimensions:
    """Second dimensions of all tables. Adds a fault for each contradiction."""

    def __init__(self, drafts: Mapping[str, Draft]) -> None:
        self._filled = {each.partitioning.table: each for each in drafts.values() if each.partitioning}
        self._daily = {each.days.table: each.name for each in drafts.values() if each.days}
        #: Dimension of each external table, with the first reader that defines it.
        self._externals: dict[str, tuple[str, Dimension]] = {}
        for draft in drafts.values():
            self._note(draft)

    def linked(self, reading: Reading, dependency: TableDependency, reader: Draft, at: At) -> TableDependency:
        """Return the dependency with the dimension of its table, and which slices are read."""
        own = reader.partitioning.by if reader.partitioning else None
        by = self._of(dependency.table)
        if by is None:
            if reading.dependency.all_slices:
                at.add(
                    "by: all reads every slice of a table, and this one has no second dimension; leave it out"
                )
            return replace(dependency, all_slices=False)
        all_slices = reading.dependency.all_slices or own is None or own.name != by.name
        if own and not all_slices and {*own.values} != {*by.values}:
            different = ", ".join(sorted({*own.values} ^ {*by.values}))
            at.add(
                f"by: it has other values of {by.name} than {reader.name} ({different}); set the same values in both,"
                " or write by: all to read every slice for each of them"
            )
        return replace(dependency, by=by, all_slices=all_slices)

    def _of(self, table: str) -> Dimension | None:
        if table in self._filled:
            filler = self._filled[table].partitioning
            return filler.by if filler else None
        return self._externals[table][1] if table in self._externals else None

    def _note(self, draft: Draft) -> None:
        if draft.partitioning and draft.partitioning.by and draft.work.unbounded:
            draft.at.inside("partition").add("by: work that never ends makes no partitions; leave it out")
        for reading in draft.readings:
            if reading.by is not None:
                at = (
                    draft.at.inside("table_dependencies").inside(reading.dependency.table).inside("partition")
                )
                self._note_external(reading.dependency, reading.by, draft.name, at)

    def _note_external(self, dependency: TableDependency, by: Dimension, reader: str, at: At) -> None:
        table = dependency.table
        if table in self._filled:
            # A definition that was stored by itself names the dimension, because the app that fills the table may be
            # missing. Then it also has the version of that app.
            if not dependency.version:
                at.add(f"by: {self._filled[table].name} fills it; set its second dimension there")
            return
        if table in self._daily:
            at.add(f"by: the jobs of {self._daily[table]} make its days, and these have no second dimension")
            return
        first, theirs = self._externals.setdefault(table, (reader, by))
        if theirs != by:
            at.add(
                f"by: for {first} its second dimension is {_told(theirs)}, for {reader} {_told(by)};"
                " leave it out in either"
            )


def _told(by: Dimension) -> str:
    return f"{by.name} with {', '.join(by.values)}"
