"""The bill of materials: every package that Sluice runs on, as CycloneDX 1.6.

    python -m sluice.ops.tools.sbom            # or `make sbom`, which writes it to sluice.cdx.json

It is made from requirements.lock, which is what is installed, and holds each package's version and the digests of the
files that pip takes for it; who needs whom, and licences, are what the packages that are installed here say. What is
said of the same lock by the same packages is the same to the last byte: it has no date, and its number comes from what
is in it. What only the tests need is not in it.
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
#: Behind this line of the lock stands what the tests need.
_TESTS: Final = "# For `make test`"
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
_DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Pin(Struct, frozen=True):
    """A package of the lock, and the digests of all its published files."""

    name: str
    version: str
    digests: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{_canonical(self.name)}@{self.version}"


def pins(lock: str) -> list[Pin]:
    """What is run, of the text of a lock."""
    blocks = re.split(
        r"\n(?=\S)", lock.partition(_TESTS)[0]
    )  # The digests of a package stand below it, indented.
    found = ((_PIN.match(block), block) for block in blocks)
    return [Pin(pin[1], pin[2], tuple(_DIGEST.findall(block))) for pin, block in found if pin]


def bill(found: list[Pin], version: str) -> dict[str, object]:
    """The document. ``version`` is Sluice's own."""
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
    """An SPDX expression where the package has one; else the first line of its own words; None of what is not here."""
    told = _told(pin.name)
    if told is None:
        return None
    for expression in told.get_all("License-Expression") or ():
        return {"expression": expression}
    words = "".join(told.get_all("License") or ()).strip().partition("\n")[0]
    return {"license": {"name": words}} if words else None


def _dependencies(found: list[Pin], root: str) -> Iterator[dict[str, object]]:
    """Who needs whom, of those that are in the lock. Sluice itself is said to need all: extras and markers of its own
    have chosen them."""
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
