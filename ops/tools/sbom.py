"""Bill of materials: every package that Sluice runs on, as CycloneDX 1.6.

    python -m sluice.ops.tools.sbom            # or `make sbom`, which writes it to sluice.cdx.json

It is made from requirements.lock, which lists the installed packages. It has the version of each package and the
digests of the files that pip accepts for it. Dependencies and licences are read from the packages that are
installed here. The result is the same to the last byte for the same lock and the same packages: it has no date, and
its serial number is derived from its content. Packages that only the tests need are not in it.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct

from sluice.jobs.release import DISTRIBUTION, release

LOCK: Final = Path(__file__).resolve().parents[2] / "requirements.lock"
#: Line of the lock before the packages that the tests need.
_TESTS: Final = "# For `make test`"
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
_DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Pin(Struct, frozen=True):
    """Package of the lock, and the digests of all its published files."""

    name: str
    version: str
    digests: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{_canonical(self.name)}@{self.version}"


def pins(lock: str) -> list[Pin]:
    """Return the packages that Sluice runs on, from the text of a lock."""
    blocks = re.split(
        r"\n(?=\S)", lock.partition(_TESTS)[0]
    )  # The digests of a package are below it, indented.
    found = ((_PIN.match(block), block) for block in blocks)
    return [Pin(pin[1], pin[2], tuple(_DIGEST.findall(block))) for pin, block in found if pin]


def bill(found: list[Pin], version: str) -> dict[str, object]:
    """Return the document. ``version`` is Sluice's own version."""
    root = f"pkg:pypi/{DISTRIBUTION}@{version}"
    components = [_component(pin) for pin in found]
    content: dict[str, object] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": DISTRIBUTION,
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
        "dependencies": list(_dependencies(found, root)),
    }
    number = uuid5(NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "serialNumber": f"urn:uuid:{number}",
        **content,
    }


def _component(pin: Pin) -> dict[str, object]:
    files = [
        {
            "type": "distribution",
            "url": pin.purl,
            "hashes": [_sha(each) for each in pin.digests],
        }
    ]
    licence = _licence(pin)
    return {
        "type": "library",
        "bom-ref": pin.purl,
        "name": pin.name,
        "version": pin.version,
        "purl": pin.purl,
        **({"licenses": [licence]} if licence else {}),
        "externalReferences": files,
    }


def _sha(digest: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": digest}


def _licence(pin: Pin) -> dict[str, object] | None:
    """Return the SPDX expression of a package, or else the first line of its ``License`` field. None if the package is
    not installed, or has neither.
    """
    told = _told(pin.name)
    if told is None:
        return None
    for expression in told.get_all("License-Expression") or ():
        return {"expression": expression}
    words = "".join(told.get_all("License") or ()).strip().partition("\n")[0]
    return {"license": {"name": words}} if words else None


def _dependencies(found: list[Pin], root: str) -> Iterator[dict[str, object]]:
    """Yield the dependencies between packages of the lock. Sluice itself depends on all of them, because its extras
    and markers have selected them.
    """
    by_name = {_canonical(pin.name): pin.purl for pin in found}
    yield {"ref": root, "dependsOn": sorted(by_name.values())}
    for pin in found:
        told = _told(pin.name)
        wanted = told.get_all("Requires-Dist") or [] if told else []
        needed = {
            by_name[name]
            for text in wanted
            if (name := _named(text)) in by_name and "extra ==" not in text and by_name[name] != pin.purl
        }
        yield {"ref": pin.purl, "dependsOn": sorted(needed)}


def _named(requirement: str) -> str:
    found = _REQUIRED.match(requirement)
    return _canonical(found[0]) if found else ""


def _told(name: str) -> metadata.PackageMetadata | None:
    try:
        return metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    found = pins(LOCK.read_text())
    document: Mapping[str, object] = bill(found, release())
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
