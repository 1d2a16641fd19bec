"""The manifests that ``sluice deploy kubernetes`` writes, and the secrets that they refer to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.ops.typist import ROOT

Manifests = list[dict[str, Any]]


def listed(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all manifests of a kustomization, without the changes that kustomize itself makes."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    for generator in kustomization.get("configMapGenerator", []):
        yield _generated(folder, generator)
    for resource in kustomization["resources"]:
        place = folder / resource
        if place.is_dir():
            yield from listed(place)
        else:
            yield from yaml.safe_load_all(place.read_text())


def _generated(folder: Path, generator: dict[str, Any]) -> dict[str, Any]:
    """Return a ConfigMap as kustomize generates it, without the hash in its name."""
    lines = [line for name in generator["envs"] for line in (folder / name).read_text().splitlines()]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": generator["name"], "labels": generator["options"]["labels"]},
        "data": dict(line.split("=", 1) for line in lines if line and not line.startswith("#")),
    }


def of_kind(manifests: Manifests, kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] == kind}


def pods_of(manifests: Manifests) -> dict[str, dict[str, Any]]:
    owners = {**of_kind(manifests, "Deployment"), **of_kind(manifests, "Job")}
    return {name: owner["spec"]["template"] for name, owner in owners.items()}


def container_of(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["spec"]["containers"]
    found: dict[str, Any] = container
    return found


def secrets() -> dict[str, dict[str, Any]]:
    """Return the secrets of the example, by name."""
    text = (ROOT / "ops/deploy/kubernetes/secret.example.yaml").read_text()
    return {each["metadata"]["name"]: each for each in yaml.safe_load_all(text)}


def mounted_in(pod: dict[str, Any]) -> dict[str, str]:
    """Return the secret that a pod mounts, by the folder that contains its keys as files."""
    volumes = {
        each["name"]: each["secret"]["secretName"] for each in pod["spec"]["volumes"] if "secret" in each
    }
    mounts = container_of(pod)["volumeMounts"]
    return {each["mountPath"]: volumes[each["name"]] for each in mounts if each["name"] in volumes}


def is_in(known: dict[str, dict[str, Any]], reference: dict[str, Any]) -> bool:
    return reference["key"] in known[reference["name"]]["stringData"]


def secret_keys() -> set[str]:
    return {key for secret in secrets().values() for key in secret["stringData"]}
