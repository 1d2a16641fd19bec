"""Which release of Sluice this is."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "sluice-jobs"


def release() -> str:
    """Its version; 0 where the code is run without having been installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"
