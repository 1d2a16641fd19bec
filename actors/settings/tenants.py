"""The file of tenants: YAML or JSON with the settings of each tenant by its name."""

from pathlib import Path

import msgspec

from sluice.jobs.policy.tenants import NAME_ADVICE, Tenant, Tenants, is_tenant_name


def read_tenants(path: str) -> Tenants:
    """Return the tenants of a file. ValueError if it cannot be read or is invalid."""
    from sluice.jobs.catalogue.sources.yaml_format import read_yaml  # noqa: PLC0415 - PyYAML, only where it is used

    try:
        found = msgspec.convert(read_yaml(Path(path).read_text("utf-8")), dict[str, Tenant])
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for name in found:
        if not is_tenant_name(name):
            raise ValueError(f"{path}: {name!r} is no name; {NAME_ADVICE}")
    prefixes: dict[str, str] = {}
    for name, tenant in found.items():
        if tenant.prefix is not None and (other := prefixes.setdefault(tenant.prefix, name)) != name:
            raise ValueError(f"{path}: {other} and {name} have the same prefix")
    return Tenants(found)
