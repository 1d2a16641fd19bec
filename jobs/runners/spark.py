"""What a job of the type ``pyspark`` asks of Spark, for one run: values put in, and all of its properties."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from msgspec.structs import replace

from sluice.jobs.job import Claimed
from sluice.jobs.runners.braces import fill, values_of
from sluice.jobs.spark import SHIPPED, Spark

#: Where nobody names a cluster, Spark runs in the job's own process, on all of the machine's cores.
MASTER = "local[*]"


def for_run(spark: Spark, claimed: Claimed, env: Mapping[str, str]) -> Spark:
    """The same with ``conf`` complete, ``uris`` in it, and no placeholder left in the paths.

    ``env`` is for the executors too; what ``env_from_os`` names stays with the driver, for it may be secret.
    """
    values = values_of(claimed)
    return replace(
        spark,
        conf=_properties(spark, claimed, env),
        uris=(),
        read_fp=spark.read_fp and fill(spark.read_fp, values),
        write_fp=spark.write_fp and fill(spark.write_fp, values),
    )


def _properties(spark: Spark, claimed: Claimed, env: Mapping[str, str]) -> dict[str, str]:
    properties = {
        "spark.master": MASTER,
        "spark.app.name": str(claimed.name),
        "spark.ui.showConsoleProgress": "false",  # Its bars are for a terminal, and stderr is a record.
    }
    properties |= {f"spark.executorEnv.{name}": text for name, text in env.items()}
    properties |= spark.conf
    return properties | dict(_shipping(spark.uris, properties))


def _shipping(uris: tuple[str, ...], properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Behind those that the configuration ships by itself."""
    for word in dict.fromkeys(SHIPPED.values()):
        own = [uri for uri in uris if SHIPPED[PurePosixPath(uri).suffix] == word]
        if own:
            yield word, ",".join([*filter(None, [properties.get(word)]), *own])
