"""Two of the four apps of the operator trial: ``src``, and ``right``, which needs it. The others are commands."""

from sluice import app

_OPTIONS = {"job_id": "{n}", "identifiers": {"n": "int"}, "max_losses": 100}


@app(**_OPTIONS)
def src() -> None:
    """Succeed at once."""


@app(depends_on={"app_name": ["src"]}, **_OPTIONS)
def right() -> None:
    """Succeed at once, when ``src`` has."""
