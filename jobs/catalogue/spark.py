"""Options of an app of type ``pyspark``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sluice.jobs.catalogue.draft import Entry, Work
from sluice.jobs.catalogue.faults import At, nearest
from sluice.jobs.catalogue.pymodule import read_pymodule
from sluice.jobs.runners.braces import OF_EVERY_JOB
from sluice.jobs.runners.braces import names as asked_for
from sluice.jobs.spark import SHIPPED, Spark

#: Function in the module that Spark calls.
MAIN = "main"


def read_spark(words: Mapping[str, object], entry: Entry, names: Sequence[str], at: At) -> Work:
    """Return the work of a Spark app. This neither needs Spark nor runs the module."""
    known = (*OF_EVERY_JOB, *names)
    fields: dict[str, Any] = {}
    for word, (field, parse) in _WORDS.items():
        if word in words:
            try:
                fields[field] = parse(words[word], known)
            except ValueError as error:
                at.add(f"{word}: {error}")
    for word in _OF_WHAT_IS_READ:
        if word in words and "read_fp" not in words:
            at.add(f"{word}: it needs read_fp, which the app does not have")
    path, source = _main(words, entry, at)
    return Work(
        job_type="pyspark", function=entry.function, function_path=path, source=source, spark=Spark(**fields)
    )


def _main(words: Mapping[str, object], entry: Entry, at: At) -> tuple[str | None, str]:
    """Return the path of the function, and its module's text unless the function is decorated."""
    module = words.get("pymodule")
    if module is None:
        if entry.function is None:
            at.add("an app of job_type pyspark needs its pymodule: package.module or path/to/file.py")
        return entry.function_path, ""
    try:
        if entry.function or not isinstance(module, str) or not module:
            raise ValueError(
                "write package.module or path/to/file.py, and only where no function is decorated"
            )
        return f"{module}:{MAIN}", read_pymodule(module, MAIN)
    except ValueError as error:
        at.add(f"pymodule: {error}")
    return None, ""


def _conf(value: object, _: Sequence[str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping of Spark's properties to texts")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ValueError(f"the value of {name}, {text!r}, is not a text; put it in quotes")
    return dict(value)


def _uris(value: object, _: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of files")
    for uri in value:
        if not isinstance(uri, str) or "," in uri or PurePosixPath(uri).suffix not in SHIPPED:
            raise ValueError(f"{uri!r} is none of {', '.join(SHIPPED)}; Spark ships these")
    return tuple(value)


def _fp(value: object, known: Sequence[str]) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not the path of a file")
    for name in asked_for(value):
        if name not in known:
            raise ValueError(f"there is no {{{name}}}{nearest(name, known)}; there are {', '.join(known)}")
    return value


def _truth(value: object, _: Sequence[str]) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _partitions(value: object, _: Sequence[str]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _share(value: object, _: Sequence[str]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError(f"{value!r} is not a share above 0 and up to 1")
    return float(value)


#: By option: the field of ``Spark`` that it sets, and the function that reads its value.
_WORDS: dict[str, tuple[str, Callable[[object, Sequence[str]], object]]] = {
    "spark_conf": ("conf", _conf),
    "uris": ("uris", _uris),
    "read_fp": ("read_fp", _fp),
    "write_fp": ("write_fp", _fp),
    "mapjson": ("mapjson", _truth),
    "minPartitions": ("min_partitions", _partitions),
    "sample": ("sample", _share),
}
_OF_WHAT_IS_READ = ("mapjson", "minPartitions", "sample")
SPARK_WORDS = ("pymodule", *_WORDS)
