"""Whether the terms of a submission fit the app that it asks for."""

from jobs.app import App
from jobs.errors import BadRequest
from jobs.policy import Policy
from jobs.pooling import require_names
from jobs.sagas.debug import Debug


def require_fit(app: App, policy: Policy) -> None:
    """BadRequest where they do not. Of the other jobs that it comes to, those of sagas obey ``debug`` too."""
    require_names(app, policy)
    if app.saga is None and policy.debug != Debug():
        raise BadRequest(
            f"debug: {app.name} is no saga, so it has no steps that could fail.",
            where=app.name,
            advice="Leave it out, or ask for the saga itself.",
        )
