"""Small definitions, to which a test adds one fault each."""

from typing import Any

#: Document of a source, and a part of the message for its one fault.
Fault = tuple[dict[str, Any], str]


def app(**words: Any) -> dict[str, Any]:
    return {"a": {"job_id": "{date}_{x}", **words}}


def child(depends_on: Any, **words: Any) -> dict[str, Any]:
    """Define ``c``, which may depend on ``p`` and ``q``. ``p`` has values for ``x``."""
    return {
        "p": {"job_id": "{date}_{x}", "autofill_values": {"x": ["u", "v"]}},
        "q": {"job_id": "{date}"},
        "c": {"job_id": "{date}", "depends_on": depends_on, **words},
    }
