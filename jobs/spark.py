"""What an app of the type ``pyspark`` asks of Spark."""

from collections.abc import Mapping

from msgspec import Struct

#: The files that Spark ships, and by which of its properties.
SHIPPED = {
    ".py": "spark.submit.pyFiles",
    ".zip": "spark.submit.pyFiles",
    ".egg": "spark.submit.pyFiles",
    ".jar": "spark.jars",
}


class Spark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``conf`` is Spark's own configuration; ``uris`` are files that are shipped to the executors.

    ``read_fp`` is what ``textFile`` and ``elem`` come from and ``write_fp`` where the result goes; in both,
    placeholders stand for the identifiers. Of what is read only the share ``sample`` is taken, and each line is
    parsed where it is ``mapjson``.
    """

    conf: Mapping[str, str] = {}
    uris: tuple[str, ...] = ()
    read_fp: str | None = None
    write_fp: str | None = None
    mapjson: bool = False
    min_partitions: int | None = None
    sample: float | None = None
