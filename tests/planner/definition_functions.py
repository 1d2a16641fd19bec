"""Functions that the definitions in tests name: filters, and kinds of identifiers."""

from sluice.jobs.keys.identifiers import parse_day

FRIDAY, SUNDAY = 4, 6


def client_on_friday_or_sunday(app: str, *, date: str, client_id: int, collection_name: str) -> bool:
    """Filter the jobs of ``app3`` in the example of Stolos."""
    return client_id == 1111 and parse_day(str(date)).weekday() in {FRIDAY, SUNDAY}


def is_even(app: str, *, n: int, t: str) -> bool:
    """Return whether ``n`` is even. It raises ZeroDivisionError for zero."""
    assert (app, t) in {("asked", "x"), ("asked", "y")}
    return n % 2 == 0 and 1 / n > 0


def lowered(raw: str) -> object:
    """Convert to lower case. Some texts make it misbehave."""
    match raw:
        case "none":
            return None
        case "false":
            return False
        case "raises":
            raise LookupError(raw)
        case "list":
            return [raw]
        case _ if raw.startswith("unstable"):
            return f"{raw}-more"
    return raw.lower()


def padded(raw: str) -> str:
    return raw.zfill(3)


def collection(raw: str) -> str:
    """Check the name of a collection by the rule in the example of Stolos."""
    if not raw.startswith(("client", "profile", "purchase", "content")):
        raise ValueError("it is no collection")
    return raw
