"""Check of the names of apps against the prefixes of tenants, which are settings and no part of the definitions."""

from sluice.jobs.catalogue.catalogue import Catalogue
from sluice.jobs.catalogue.errors import DefinitionFaults
from sluice.jobs.policy.tenants import Tenants


def check_names(catalogue: Catalogue, tenants: Tenants) -> None:
    """Raise DefinitionError if the name of an app is outside of the prefix of its tenant, or inside of another one."""
    faults = DefinitionFaults()
    for app in catalogue.values():
        if fault := tenants.fault_of_name(app.name, app.tenant):
            faults.add(app.origin, app.name, fault)
    faults.raise_any()
