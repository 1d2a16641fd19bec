"""Spark options of an app of type ``pyspark``."""

from collections.abc import Mapping

from msgspec import Struct

#: Files that Spark ships, and the Spark property for each kind.
SHIPPED = {
    ".py": "spark.submit.pyFiles",
    ".zip": "spark.submit.pyFiles",
    ".egg": "spark.submit.pyFiles",
    ".jar": "spark.jars",
}


class Spark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Spark options of an app.

    ``conf`` is Spark's own configuration. ``uris`` are files that are shipped to the executors. ``read_fp`` is the
    input of ``textFile`` and ``elem``, ``write_fp`` the destination of the result. In both, placeholders stand for
    the identifiers. Only the fraction ``sample`` of the input is read. With ``mapjson`` each line is parsed as JSON.
    """

    conf: Mapping[str, str] = {}
    uris: tuple[str, ...] = ()
    read_fp: str | None = None
    write_fp: str | None = None
    mapjson: bool = False
    min_partitions: int | None = None
    sample: float | None = None
