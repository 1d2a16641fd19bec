"""Spark settings of one run of a ``pyspark`` job: values filled in, and all properties."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from msgspec.structs import replace

from sluice.jobs.model.job import RunContext
from sluice.jobs.model.spark import SHIPPED, Spark
from sluice.jobs.runners.command.placeholders import fill_braces, values_of

#: Default master: Spark runs in the job's own process, on all cores of the machine.
MASTER = "local[*]"


def for_run(spark: Spark, claimed: RunContext, env: Mapping[str, str]) -> Spark:
    """Return these settings with ``conf`` complete, ``uris`` in it, and no placeholder left in the paths.

    ``env`` is also set for the executors. Variables of ``env_from_os`` stay with the driver because they may be secret.
    """
    values = values_of(claimed)
    return replace(
        spark,
        conf=_properties(spark, claimed, env),
        uris=(),
        read_fp=spark.read_fp and fill_braces(spark.read_fp, values),
        write_fp=spark.write_fp and fill_braces(spark.write_fp, values),
    )


def _properties(spark: Spark, claimed: RunContext, env: Mapping[str, str]) -> dict[str, str]:
    properties = {
        "spark.master": MASTER,
        "spark.app.name": str(claimed.name),
        "spark.ui.showConsoleProgress": "false",  # Progress bars are for a terminal, and stderr is a record.
    }
    properties |= {f"spark.executorEnv.{name}": text for name, text in env.items()}
    properties |= spark.conf
    return properties | dict(_shipping(spark.uris, properties))


def _shipping(uris: tuple[str, ...], properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the properties that ship the ``uris``, appended to the files that the configuration already ships."""
    for word in dict.fromkeys(SHIPPED.values()):
        own = [uri for uri in uris if SHIPPED[PurePosixPath(uri).suffix] == word]
        if own:
            yield word, ",".join([*filter(None, [properties.get(word)]), *own])
