"""Release of the running Sluice."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "sluice-jobs"


def release() -> str:
    """Return the installed version, or 0 if the code runs without being installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"
