"""Options of a policy that a submission may set."""

from collections.abc import Iterator, Mapping

from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.policy import Policy

#: Policy options that every submission may set. They determine how often, how long and when its jobs are tried, and
#: which output is kept. They do not determine which code runs, with which rights, or beside how many other jobs. An
#: app opens any other option with ``submitters_may_set``, so an option that is added later is closed until the app's
#: author opens it.
OPEN = frozenset(
    (
        *(
            "priority",
            "max_fails",
            "max_timeouts",
            "timeout",
            "start_after",
            "end_before",
            "due_within",
            "retry",
        ),
        *(
            "max_losses",
            "random_start_offset",
            "pull",
            "on_failure",
            "archive",
            "debug",
            "fail_on",
            "keep_output",
        ),
    )
)


def refused_options(own: Policy, asked: Mapping[str, JSON]) -> Iterator[tuple[str, str]]:
    """Yield each option that an app with this policy does not leave to submissions, with the reason.

    Raises BadRequest if ``asked``, the policy of a submission, cannot be read.
    """
    timeout_s = parse_policy(asked).get("timeout_s")
    for option in asked:
        if option in own.submitters_may_set:
            continue
        if option not in OPEN:
            yield (
                option,
                "only the app's definition may set it, unless the app lists it in submitters_may_set",
            )
        elif option == "timeout" and _is_longer(timeout_s, own.timeout_s):
            yield option, f"it is longer than the {own.timeout_s:g} s that the app allows"


def _is_longer(timeout_s: float | None, allowed_s: float | None) -> bool:
    return allowed_s is not None and (timeout_s is None or timeout_s > allowed_s)
