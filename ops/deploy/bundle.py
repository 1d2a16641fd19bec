"""Folder for ``kubectl apply -k``: a common base, and workers and scalers for each group of apps."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template
from urllib.parse import quote

from msgspec import Struct

from sluice.broker.rabbitmq.topology import PLAIN, QueueNames
from sluice.ops.deploy.groups import WorkerGroup

#: Seconds between the end of a worker's grace time and its kill. The worker needs them to receive the signal, to hand
#: back its remaining jobs and to sign off.
AFTER_GRACE_S = 25
_HERE = files("sluice.ops.deploy") / "kubernetes"


class ManifestSettings(Struct, frozen=True, kw_only=True):
    """Settings of the manifests. ``queues`` has the names of the queues at the broker. ``threads`` is the number of
    jobs that a worker runs at once. ``grace_s`` is the time that a stopping worker has to finish them. ``least`` and
    ``most`` are the bounds for the workers of a group.
    """

    namespace: str
    queues: QueueNames = PLAIN
    image: str
    threads: int
    grace_s: int
    least: int
    most: int
    rabbitmq: bool


def bundle(groups: Sequence[WorkerGroup], terms: ManifestSettings) -> dict[str, str]:
    """Return the content of each file by its path in the folder."""
    base = {f"base/{name}": text for name, text in _texts("") if name.endswith(".yaml")}
    forms = dict(_texts("forms"))
    given = [{**_words(terms), **_words_of(each)} for each in groups]
    authentication = [forms["console_authentication.yaml"]]
    if terms.rabbitmq:
        authentication.append(forms["rabbitmq_authentication.yaml"])
    return {
        **base,
        "kustomization.yaml": _filled(forms["kustomization.yaml"], _words(terms)),
        "workers.yaml": _documents(_filled(forms["worker.yaml"], words) for words in given),
        "scaling.yaml": _documents(
            [
                *authentication,
                *(
                    _filled(forms["scaler.yaml"], words) + _queue_triggers(forms, each, terms)
                    for each, words in zip(groups, given, strict=True)
                ),
            ]
        ),
    }


def _queue_triggers(forms: Mapping[str, str], group: WorkerGroup, terms: ManifestSettings) -> str:
    if not terms.rabbitmq:
        return ""
    form = forms["queue_trigger.yaml"]
    return "".join(_filled(form, {**_words(terms), "queue": terms.queues.of(app)}) for app in group.apps)


def _words(terms: ManifestSettings) -> dict[str, str]:
    name, pin = _parts(terms.image)
    return {
        "namespace": terms.namespace,
        "image": name,
        "pin": pin,
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


def _texts(folder: str) -> Iterator[tuple[str, str]]:
    place = _HERE / folder if folder else _HERE
    for file in sorted(place.iterdir(), key=lambda each: each.name):
        if file.is_file():
            yield file.name, file.read_text()


def _filled(form: str, words: Mapping[str, str]) -> str:
    return Template(form).substitute(words)


def _documents(texts: Iterator[str] | Sequence[str]) -> str:
    return "---\n".join(texts)
