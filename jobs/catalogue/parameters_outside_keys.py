"""Required parameters of functions that are no identifiers of the key of their app.

Such a parameter receives a kwarg. Without it, a job fails when it starts. A keyword-only parameter is always a kwarg,
so only the other parameters are reported.
"""

from collections.abc import Iterator

from msgspec import Struct

from sluice.jobs.api.signature import read_signature
from sluice.jobs.catalogue.catalogue import Catalogue


class ParametersOutsideKey(Struct, frozen=True, kw_only=True):
    """Parameters of the function of ``app``, and the template of its keys."""

    app: str
    key: str
    parameters: tuple[str, ...]


def parameters_outside_keys(catalogue: Catalogue) -> Iterator[ParametersOutsideKey]:
    """Yield an entry for each app with such parameters, in the order of the definitions."""
    for app in catalogue.values():
        function = app.saga.build if app.saga else app.function
        if function is None or not app.is_keyed_by_template:
            continue
        taken = read_signature(function, of_saga=app.saga is not None).identifiers
        names = tuple(it.name for it in taken if it.required and it.name not in app.template.names)
        if names:
            yield ParametersOutsideKey(app=app.name, key=app.template.text, parameters=names)
