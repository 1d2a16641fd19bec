"""Folder for ``kubectl apply -k``: a common base, and workers and scalers for each group of apps."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template
from urllib.parse import quote

from msgspec import Struct

from sluice.ops.deploy.groups import WorkerGroup, name_of

#: Seconds between the end of a worker's grace time and its kill. The worker needs them to receive the signal, to hand
#: back its remaining jobs and to sign off.
AFTER_GRACE_S = 25
#: Maximum length of the value of a label.
_VERSION_LENGTH = 63
#: Characters that a label may have in the middle only.
_EDGES = re.compile(r"^[._-]+|[._-]+$")
_HERE = files("sluice.ops.deploy") / "kubernetes"


class ManifestSettings(Struct, frozen=True, kw_only=True):
    """Settings of the manifests. ``threads`` is the number of jobs that a worker runs at once. ``grace_s`` is the time
    that a stopping worker has to finish them. ``least`` and ``most`` are the bounds for the workers of a group.
    ``service_monitor``: Prometheus is run by its operator, and scrapes the console.
    """

    namespace: str
    image: str
    threads: int
    grace_s: int
    least: int
    most: int
    service_monitor: bool = False


def bundle(groups: Sequence[WorkerGroup], terms: ManifestSettings) -> dict[str, str]:
    """Return the content of each file by its path in the folder."""
    base = {f"base/{name}": text for name, text in _texts("") if name.endswith((".yaml", ".env"))}
    forms = dict(_texts("forms"))
    words = _words(terms)
    given = [{**words, **_words_of(each)} for each in groups]
    monitoring = (
        {"monitoring.yaml": _filled(forms["monitoring.yaml"], words)} if terms.service_monitor else {}
    )
    return {
        **base,
        **monitoring,
        "kustomization.yaml": _filled(forms["kustomization.yaml"], words),
        "workers.yaml": _documents(_filled(forms["worker.yaml"], each) for each in given),
        "scaling.yaml": _documents(
            [forms["console_authentication.yaml"], *(_filled(forms["scaler.yaml"], each) for each in given)]
        ),
    }


def _words(terms: ManifestSettings) -> dict[str, str]:
    name, pin = _parts(terms.image)
    return {
        "namespace": terms.namespace,
        "image": name,
        "pin": pin,
        "version": _version(terms.image),
        "job": name_of(_version(terms.image)),
        "monitoring": "\n  - monitoring.yaml" if terms.service_monitor else "",
        "threads": str(terms.threads),
        "grace": f"{terms.grace_s}s",
        "termination_s": str(terms.grace_s + AFTER_GRACE_S),
        "least": str(terms.least),
        "most": str(terms.most),
    }


def _words_of(group: WorkerGroup) -> dict[str, str]:
    return {
        "name": f"sluice-worker-{group.name}",
        "apps": ", ".join(group.apps),
        "queues": ",".join(group.apps),
        "query": "&".join(f"app={quote(app, safe='')}" for app in group.apps),
    }


def _parts(image: str) -> tuple[str, str]:
    """Return the name of the image, and the line with its digest or tag. A colon before the last slash belongs to a
    port.
    """
    image, at, digest = image.partition("@")
    name, colon, tag = image.rpartition(":")
    if not colon or "/" in tag:
        name, tag = image, "latest"
    return name, f'digest: "{digest}"' if at else f'newTag: "{tag}"'


def _version(image: str) -> str:
    """Return the value of the label with the version: the tag of the image, or the beginning of its digest."""
    image, at, digest = image.partition("@")
    if at:
        return digest.replace(":", "-")[:_VERSION_LENGTH]
    tag = _parts(image)[1].split('"')[1]
    return _EDGES.sub("", tag[:_VERSION_LENGTH])


def _texts(folder: str) -> Iterator[tuple[str, str]]:
    place = _HERE / folder if folder else _HERE
    for file in sorted(place.iterdir(), key=lambda each: each.name):
        if file.is_file():
            yield file.name, file.read_text()


def _filled(form: str, words: Mapping[str, str]) -> str:
    return Template(form).substitute(words)


def _documents(texts: Iterator[str] | Sequence[str]) -> str:
    return "---\n".join(texts)
