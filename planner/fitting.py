"""Terms of jobs: whether a submission's policy fits the requested app, and the resulting terms for each app."""

from collections.abc import Mapping
from typing import NamedTuple

from sluice.jobs.app import App
from sluice.jobs.catalogue.policy import parse_policy
from sluice.jobs.catalogue.submitters import refused_options
from sluice.jobs.errors import BadRequest
from sluice.jobs.policy import Policy
from sluice.jobs.pooling import require_names
from sluice.jobs.request_limits import large_policy
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.submission import JSON, Submission


class Terms(NamedTuple):
    """Terms for the jobs of one app. ``overrides`` are the options that replace options of its definition."""

    overrides: Mapping[str, JSON]
    policy: Policy


def mode_of(app: App, submission: Submission) -> Mapping[str, JSON]:
    """Return the app's options for the mode of the submission. Any option is accepted there, because the app's author
    wrote it."""
    modes = app.partitioning.modes if app.partitioning else {}
    return modes.get(submission.layout_mode or "", {})


def terms_of(app: App, asked: Mapping[str, JSON], mode: Mapping[str, JSON] = {}) -> Terms:
    """Return the terms for the jobs of an app; BadRequest if ``asked`` or ``mode`` cannot be read.

    ``asked`` is the policy of a submission, ``mode`` is the result of ``mode_of``. Options of the submission that the
    app does not leave to submitters do not apply. For the requested app, ``require_fit`` has refused them, so this
    concerns only the other apps that the submission reaches.
    """
    if not asked and not mode:
        return Terms({}, app.policy)
    refused = dict(refused_options(app.policy.overridden(parse_policy(mode)), asked))
    overrides = {**mode, **{option: value for option, value in asked.items() if option not in refused}}
    return Terms(overrides, app.policy.overridden(parse_policy(overrides)))


def require_fit(app: App, asked: Mapping[str, JSON], mode: Mapping[str, JSON] = {}) -> None:
    """Raise BadRequest if a submission for this app requests terms that do not fit it, or that submitters may not set.

    Other apps that the submission reaches keep their own terms instead, except that sagas among them obey ``debug``.
    """
    if not asked and not mode:
        return
    own = app.policy.overridden(parse_policy(mode))
    if refused := list(refused_options(own, asked)):
        raise BadRequest(
            f"policy: {'; '.join(f'{option}: {why}' for option, why in refused)}.",
            where=app.name,
            advice="Leave it out and submit again.",
        )
    policy = own.overridden(parse_policy(asked))
    if reason := large_policy({**mode, **asked}):
        raise BadRequest(f"Its {reason}.", where=app.name, advice="Shorten it and submit again.")
    require_names(app, policy)
    if app.saga is None and policy.debug != Debug():
        raise BadRequest(
            f"debug: {app.name} is no saga, so it has no steps that could fail.",
            where=app.name,
            advice="Leave it out, or submit the saga itself.",
        )
