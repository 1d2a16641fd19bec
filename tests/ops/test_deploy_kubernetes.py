"""``sluice deploy kubernetes``: Kubernetes and KEDA accept the manifests, and their parts fit together."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.text.units import parse_duration_s
from sluice.ops.cli.main import main
from sluice.ops.deploy.groups import is_name, name_of
from tests.ops import keda, prometheus_operator
from tests.ops.deployed import settings, understood
from tests.ops.manifests import (
    Manifests,
    container_of,
    is_in,
    listed,
    mounted_in,
    of_kind,
    pods_of,
    secret_keys,
    secrets,
)
from tests.ops.typist import ROOT

_PROBES = re.findall(r"^(find .*?) +# (\w+)$", (ROOT / "docs" / "observe.md").read_text(), re.MULTILINE)
_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOPS = ["fetch", "clean", "report", "publish"]
APP = {"job_id": "{x}", "bash_cmd": "true"}
#: Oldest and newest version of Kubernetes that the manifests are for.
VERSIONS = ("1.27.1", "1.37.0")
SCHEMAS = {**keda.SCHEMAS, "ServiceMonitor": prometheus_operator.SERVICE_MONITOR}
KUBECTL = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl builds kustomizations, and is not here"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_APPS", "sluice.jobs.examples.shops")
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    return tmp_path / "made"


def _made(folder: Path, *words: str, apps: dict[str, Any] | None = None) -> Manifests:
    given_apps = []
    if apps is not None:
        folder.mkdir(exist_ok=True)
        (folder / "apps.json").write_text(json.dumps(apps))
        given_apps = ["--apps", str(folder / "apps.json")]
    assert main([*given_apps, "deploy", "kubernetes", "--output", str(folder), *words]) == 0
    return [*listed(folder)]


def _validate(manifest: dict[str, Any]) -> None:
    if manifest["kind"] in SCHEMAS:
        jsonschema.validate(manifest, SCHEMAS[manifest["kind"]])
    else:
        for version in VERSIONS:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_all_manifests_are_valid_for_kubernetes_keda_and_the_prometheus_operator(folder: Path) -> None:
    kinds = set()
    for manifest in [*_made(folder, "--service-monitor"), *secrets().values()]:
        kinds.add(manifest["kind"])
        _validate(manifest)
    assert kinds == {
        *("ConfigMap", "Job", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "Secret"),
        *("ScaledObject", "TriggerAuthentication", "ServiceMonitor"),
    }


def _built(folder: Path) -> Manifests:
    built = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=True)
    return [*yaml.safe_load_all(built.stdout)]


@KUBECTL
def test_kubectl_builds_the_kustomization(folder: Path) -> None:
    made = _made(
        folder, "--namespace", "jobs", "--image", "registry.example:5000/sluice:1.2", "--service-monitor"
    )
    manifests = _built(folder)
    assert len(manifests) == len(made)
    assert {each["metadata"]["namespace"] for each in manifests} == {"jobs"}
    for manifest in manifests:
        _validate(manifest)
    images = {container_of(pod)["image"] for pod in pods_of(manifests).values()}
    assert images == {"registry.example:5000/sluice:1.2"}


@KUBECTL
def test_every_object_and_pod_has_a_label_with_the_version(folder: Path) -> None:
    _made(folder, "--image", "registry.example:5000/sluice:1.2")
    manifests = _built(folder)
    labelled = [each["metadata"]["labels"] for each in manifests]
    labelled += [pod["metadata"]["labels"] for pod in pods_of(manifests).values()]
    assert {labels["app.kubernetes.io/version"] for labels in labelled} == {"1.2"}
    for deployment in of_kind(manifests, "Deployment").values():
        # A selector cannot be changed, so no upgrade could be applied.
        assert "app.kubernetes.io/version" not in deployment["spec"]["selector"]["matchLabels"]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("sluice", "latest"),
        ("registry.example:5000/sluice:1.2", "1.2"),
        (f"sluice:{62 * 'v'}-1", 62 * "v"),
        (f"sluice@sha256:{64 * 'a'}", f"sha256-{56 * 'a'}"),
    ],
)
def test_the_version_is_the_tag_or_the_digest(folder: Path, image: str, version: str) -> None:
    _made(folder, "--image", image)
    ((labels,),) = [yaml.safe_load((folder / "kustomization.yaml").read_text())["labels"]]
    assert labels["pairs"] == {"app.kubernetes.io/version": version}
    assert len(version) <= 63


@KUBECTL
@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("sluice:1.4", f"sluice-migrate-{name_of('1.4')}"),
        ("sluice:2026-11-20", "sluice-migrate-2026-11-20"),
        (f"sluice@sha256:{64 * 'a'}", f"sluice-migrate-{name_of('sha256-' + 56 * 'a')}"),
    ],
)
def test_each_version_has_a_job_of_its_own_for_its_migrations(folder: Path, image: str, name: str) -> None:
    _made(folder, "--image", image)
    assert [*of_kind(_built(folder), "Job")] == [name]
    assert len(name) <= 63


@KUBECTL
def test_a_changed_setting_restarts_the_pods(folder: Path, tmp_path: Path) -> None:
    """The name of the ConfigMap has a hash of its content, so a change of it changes every pod."""
    _made(folder, "--namespace", "jobs")
    before = _read_configs(_built(folder))
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    # As in docs/deploy.md.
    (overlay / "kustomization.yaml").write_text(_overlay().replace("../kubernetes", "../made"))
    manifests = _built(overlay)
    after = _read_configs(manifests)
    (config,) = of_kind(manifests, "ConfigMap").values()
    assert config["data"]["SLUICE_LEASE"] == "30s"
    assert config["data"]["SLUICE_LOG"] == "json"
    assert after.keys() == before.keys() != set()
    assert set(after.values()) == {config["metadata"]["name"]}
    assert not set(after.values()) & set(before.values())


def _read_configs(manifests: Manifests) -> dict[str, str]:
    """Return the ConfigMap of each pod that has one."""
    return {
        name: source["configMapRef"]["name"]
        for name, pod in pods_of(manifests).items()
        for source in container_of(pod).get("envFrom", [])
    }


def _overlay() -> str:
    """Return the example of an overlay from the documentation."""
    page = (ROOT / "docs/deploy.md").read_text()
    blocks: list[str] = _YAML.findall(page)
    (found,) = [block for block in blocks if "kind: Kustomization" in block]
    return found


def test_only_the_console_accepts_connections(folder: Path) -> None:
    policies = of_kind(_made(folder), "NetworkPolicy")
    denies = policies["sluice-ingress"]["spec"]
    assert (denies["policyTypes"], "ingress" in denies) == (["Ingress"], False)
    assert denies["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "sluice"}
    allows = [name for name, policy in policies.items() if policy["spec"].get("ingress")]
    assert allows == ["sluice-console"]
    (rule,) = policies["sluice-console"]["spec"]["ingress"]
    assert rule["ports"] == [{"port": "http"}]


def test_parts_without_user_code_connect_to_their_servers_alone(folder: Path) -> None:
    manifests = _made(folder)
    policy = of_kind(manifests, "NetworkPolicy")["sluice-egress"]["spec"]
    by_label = {each["key"]: each["values"] for each in policy["podSelector"]["matchExpressions"]}
    components = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in pods_of(manifests).values()
    }
    assert set(by_label["app.kubernetes.io/component"]) == components - {"worker"}
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    for secret in secrets().values():
        for name, value in secret["stringData"].items():
            if name.endswith("_URL"):
                url = urlsplit(value)
                assert (url.port or {"postgresql": 5432, "amqp": 5672}[url.scheme]) in ports
    assert {53, 5432, 5672, 5671, 6379} <= ports


def test_prometheus_scrapes_one_console(folder: Path) -> None:
    """Each console has the numbers of the whole installation, so the sum over several would be wrong."""
    manifests = _made(folder, "--service-monitor", "--namespace", "jobs")
    (monitor,) = of_kind(manifests, "ServiceMonitor").values()
    service = of_kind(manifests, "Service")["sluice-console"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert is_in(secrets(), endpoint["authorization"]["credentials"])
    replaced = {
        each["targetLabel"]: each["replacement"] for each in endpoint["relabelings"] if "targetLabel" in each
    }
    assert replaced == {"__address__": "sluice-console.jobs.svc:8484", "instance": "sluice-console"}


def test_the_console_is_probed_by_http_without_a_token(folder: Path) -> None:
    console = container_of(pods_of(_made(folder))["sluice-console"])
    assert console["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert console["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}


def test_each_app_has_workers_and_a_scaler_by_its_demand(folder: Path) -> None:
    manifests = _made(folder, "--threads", "3", "--most", "7", "--namespace", "jobs")
    workers, scalers = of_kind(manifests, "Deployment"), of_kind(manifests, "ScaledObject")
    assert scalers.keys() == {f"sluice-worker-{app}" for app in SHOPS}
    for app in SHOPS:
        spec = scalers[f"sluice-worker-{app}"]["spec"]
        assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (0, 7)
        (by_ledger,) = spec["triggers"]
        assert by_ledger["type"] == "metrics-api"
        assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
        url = urlsplit(by_ledger["metadata"]["url"])
        assert (url.path, parse_qs(url.query)) == ("/api/demand", {"app": [app]})
        assert url.hostname == "sluice-console.jobs.svc"
        assert by_ledger["metadata"]["targetValue"] == "3"
        worker = workers[spec["scaleTargetRef"]["name"]]
        assert "replicas" not in worker["spec"]
        command = container_of(worker["spec"]["template"])["command"]
        assert command[-4:] == ["--queues", app, "--threads", "3"]


def test_grouped_apps_share_workers_and_a_scaler(folder: Path) -> None:
    manifests = _made(folder, "--group", "nightly=fetch,clean")
    scalers = of_kind(manifests, "ScaledObject")
    assert list(scalers) == ["sluice-worker-nightly", "sluice-worker-report", "sluice-worker-publish"]
    (trigger,) = scalers["sluice-worker-nightly"]["spec"]["triggers"]
    assert parse_qs(urlsplit(trigger["metadata"]["url"]).query) == {"app": ["fetch", "clean"]}
    assert of_kind(manifests, "TriggerAuthentication").keys() == {"sluice-console"}


def test_every_queue_has_workers(folder: Path) -> None:
    pods = pods_of(_made(folder, "--group", "nightly=fetch,clean"))
    served = [
        queue
        for pod in pods.values()
        for word, queues in zip(container_of(pod)["command"], container_of(pod)["command"][1:], strict=False)
        if word == "--queues"
        for queue in queues.split(",")
    ]
    assert sorted(served) == sorted([*SHOPS, "planner", "groomer", "scheduler"])


def test_selectors_and_references_lead_to_existing_objects(folder: Path) -> None:
    manifests = _made(folder)
    pods, known = pods_of(manifests), secrets()
    labels = [pod["metadata"]["labels"].items() for pod in pods.values()]
    for kind in ("Deployment", "Service", "PodDisruptionBudget"):
        for each in of_kind(manifests, kind).values():
            selector = each["spec"]["selector"]
            assert any(selector.get("matchLabels", selector).items() <= of_pod for of_pod in labels)
    for deployment in of_kind(manifests, "Deployment").values():
        chosen = deployment["spec"]["selector"]["matchLabels"].items()
        assert [chosen <= of_pod for of_pod in labels].count(True) == 1
    for pod in pods.values():
        for source in container_of(pod).get("envFrom", []):
            assert source["configMapRef"]["name"] in of_kind(manifests, "ConfigMap")
        mounted = mounted_in(pod)
        for variable in container_of(pod)["env"]:
            if variable["name"].endswith("_FILE"):
                folder_of_secret, _, key = variable["value"].rpartition("/")
                assert is_in(known, {"name": mounted[folder_of_secret], "key": key})
                assert variable["name"] == f"{key}_FILE"
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        assert volumes == {mount["name"] for mount in container_of(pod).get("volumeMounts", [])}
    authentications = of_kind(manifests, "TriggerAuthentication")
    for authentication in authentications.values():
        assert all(is_in(known, each) for each in authentication["spec"]["secretTargetRef"])
    for scaler in of_kind(manifests, "ScaledObject").values():
        names = {trigger["authenticationRef"]["name"] for trigger in scaler["spec"]["triggers"]}
        assert names <= authentications.keys()


def _settings_of(folder: Path) -> dict[str, str]:
    found: dict[str, str] = of_kind(_made(folder), "ConfigMap")["sluice"]["data"]
    return found


def test_commands_and_settings_of_the_pods_exist(folder: Path) -> None:
    manifests = _made(folder, "--grace", "10m")
    known = settings()
    assert secret_keys() <= known
    assert of_kind(manifests, "ConfigMap")["sluice"]["data"].keys() <= known
    for pod in pods_of(manifests).values():
        container = container_of(pod)
        understood(container["command"])
        assert {variable["name"].removesuffix("_FILE") for variable in container["env"]} <= known


def test_workers_are_probed_by_the_documented_commands(folder: Path) -> None:
    """``tests/actors/test_health_file.py`` runs these commands."""
    documented = {kind: command for command, kind in _PROBES}
    for name, pod in pods_of(_made(folder)).items():
        if name in ("sluice-migrate", "sluice-console"):
            continue
        container = container_of(pod)
        path = next(each["value"] for each in container["env"] if each["name"] == "SLUICE_HEALTH_PATH")
        assert any(Path(path).is_relative_to(mount["mountPath"]) for mount in container["volumeMounts"])
        for probe, kind in (
            ("startupProbe", "readiness"),
            ("readinessProbe", "readiness"),
            ("livenessProbe", "liveness"),
        ):
            assert path in documented[kind]
            assert container[probe]["exec"]["command"] == ["sh", "-c", documented[kind]]
        waits_s = container["startupProbe"]["periodSeconds"] * container["startupProbe"]["failureThreshold"]
        assert waits_s > parse_duration_s(_settings_of(folder)["SLUICE_STARTUP_TIMEOUT"])


def test_no_process_is_killed_within_its_grace_time(folder: Path) -> None:
    manifests = _made(folder, "--grace", "10m")
    usual = of_kind(manifests, "ConfigMap")["sluice"]["data"]["SLUICE_SHUTDOWN_GRACE"]
    for name, pod in pods_of(manifests).items():
        if name in ("sluice-migrate", "sluice-console"):
            continue
        own = {each["name"]: each.get("value") for each in container_of(pod)["env"]}
        grace_s = parse_duration_s(own.get("SLUICE_SHUTDOWN_GRACE") or usual)
        assert pod["spec"]["terminationGracePeriodSeconds"] >= grace_s + 10, name
        assert grace_s == (20 if name == "sluice-control" else 600)


def test_every_pod_meets_the_restricted_security_standard(folder: Path) -> None:
    for pod in pods_of(_made(folder)).values():
        shared, own = pod["spec"]["securityContext"], container_of(pod)["securityContext"]
        assert shared["runAsNonRoot"] is True
        assert shared["seccompProfile"] == {"type": "RuntimeDefault"}
        assert own["allowPrivilegeEscalation"] is False
        assert own["readOnlyRootFilesystem"] is True
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert pod["spec"]["automountServiceAccountToken"] is False


def test_each_part_has_a_secret_and_a_role_of_its_own(folder: Path) -> None:
    """A pod with the secret of another part would have its rights."""
    parts = {"sluice-migrate": "owner", "sluice-control": "control", "sluice-console": "console"}
    for name, pod in pods_of(_made(folder)).items():
        secret = f"sluice-{parts.get(name, 'worker')}"
        assert mounted_in(pod) == {"/run/secrets/sluice": secret}
        named = {each["name"].removesuffix("_FILE") for each in container_of(pod)["env"]} - {
            "SLUICE_SHUTDOWN_GRACE",
            "SLUICE_STARTUP_TIMEOUT",
            "SLUICE_HEALTH_PATH",
        }
        assert named == secrets()[secret]["stringData"].keys(), name
        assert all("value" in each for each in container_of(pod)["env"]), "no secret is in an environment"
    roles = {
        name: urlsplit(secret["stringData"]["SLUICE_LEDGER_URL"]).username
        for name, secret in secrets().items()
        if name != "sluice-scaling"
    }
    assert roles == {
        "sluice-owner": "sluice_owner",
        "sluice-control": "sluice_control",
        "sluice-worker": "sluice_worker",
        "sluice-console": "sluice_worker",
    }


_UNITS = {"Mi": 2**20, "Gi": 2**30}


def _bytes(text: str) -> int:
    return int(text[:-2]) * _UNITS[text[-2:]]


def test_every_pod_has_limits_of_memory_and_disk(folder: Path) -> None:
    for name, pod in pods_of(_made(folder)).items():
        limits = container_of(pod)["resources"]["limits"]
        requests = container_of(pod)["resources"]["requests"]
        assert _bytes(limits["memory"]) >= _bytes(requests["memory"]) > 0
        sizes = [
            _bytes(volume["emptyDir"]["sizeLimit"])
            for volume in pod["spec"]["volumes"]
            if "emptyDir" in volume
        ]
        assert len(sizes) == (0 if name == "sluice-migrate" else 2)
        # Logs count, too. A pod above its limit is evicted.
        assert _bytes(limits["ephemeral-storage"]) > sum(sizes)
        assert _bytes(requests["ephemeral-storage"]) > 0


def test_an_image_may_be_pinned_by_its_digest(folder: Path) -> None:
    image = f"registry.example:5000/sluice@sha256:{64 * 'a'}"
    _made(folder, "--image", image)
    (pinned,) = yaml.safe_load((folder / "kustomization.yaml").read_text())["images"]
    assert pinned == {
        "name": "sluice",
        "newName": "registry.example:5000/sluice",
        "digest": f"sha256:{64 * 'a'}",
    }


def test_the_manifests_are_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    _made(folder)
    _made(tmp_path / "again")
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert [(folder / each).read_text() for each in files] == [
        (tmp_path / "again" / each).read_text() for each in files
    ]


def test_app_names_that_kubernetes_does_not_accept_are_replaced(folder: Path) -> None:
    apps = ["a", "A", "a.b", "a_b", "a-b", "b" * 60]
    manifests = _made(folder, apps=dict.fromkeys(apps, APP))
    scalers = of_kind(manifests, "ScaledObject")
    asked = [
        parse_qs(urlsplit(each["spec"]["triggers"][0]["metadata"]["url"]).query)["app"]
        for each in scalers.values()
    ]
    assert asked == [[app] for app in apps]
    assert {"sluice-worker-a", "sluice-worker-a-b"} < scalers.keys()
    for manifest in manifests:
        if manifest["kind"] in SCHEMAS:
            jsonschema.validate(manifest, SCHEMAS[manifest["kind"]])


@given(st.lists(st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,79}", fullmatch=True), unique=True, min_size=1))
def test_generated_names_are_valid_and_unique(apps: list[str]) -> None:
    names = [name_of(app) for app in apps]
    assert all(is_name(name) for name in names)
    assert len(set(names)) == len(apps)
    # With its prefix the name is still short enough for a label.
    assert all(len(f"keda-hpa-sluice-worker-{name}") <= 63 for name in names)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--group", "nightly"], "is no group"),
        (["--group", "Nightly=fetch"], "is no group"),
        (["--group", "nightly=fetch,mail"], "There is no app mail"),
        (["--group", "one=fetch", "--group", "two=fetch"], "in two groups"),
        (["--group", "report=fetch,clean"], "Two groups are called report"),
        (["--namespace", "Jobs"], "lowercase letters"),
        (["--image", "a b"], "is not an image"),
        (["--grace", "soon"], "is not a duration"),
        (["--least", "4", "--most", "3"], "--least 4 is more"),
        (["--most", "many"], "is not a number"),
    ],
)
def test_invalid_options_are_refused(
    words: list[str], told: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", "kubernetes", "--output", str(folder), *words]) == 2
    assert told in capfd.readouterr().err
    assert not folder.exists()
