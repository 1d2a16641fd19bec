"""``docker-compose.yml`` without Docker: its syntax, the commands that it starts, and its settings for RabbitMQ."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import compose_spec
import pytest
import yaml

from sluice.actors.settings.settings import read_settings
from sluice.broker.connect import connect
from sluice.jobs.text.units import parse_duration_s
from tests.ops.composed import CHOICES, GIVEN, filled, read_services, text
from tests.ops.deployed import settings, understood
from tests.ops.typist import ROOT
from tests.private_servers import DEBIAN_RABBITMQ, PATH, rabbitmq
from tests.servers import rabbitmq_url

#: Variables that OpenTelemetry reads.
OF_TRACES = {
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"),
}
RABBITMQ = ROOT / "ops" / "deploy" / "rabbitmq"


def _commands(command: list[str]) -> list[list[str]]:
    """Return the Sluice commands that a service starts. A shell may run several of them one after another."""
    if command[:2] != ["sh", "-c"]:
        return [command]
    return [each.split(">")[0].split() for each in command[2].split(" && ")]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return read_services()


@pytest.fixture(scope="module")
def rabbitmqctl() -> str:
    found = shutil.which("rabbitmqctl", path=PATH)
    if found is None:
        pytest.skip("rabbitmqctl is a program of RabbitMQ, which is not installed here")
    return found


def test_the_file_conforms_to_the_compose_specification() -> None:
    with_merges = compose_spec.PyOptions(apply_merge=True)
    with_merges.from_yaml(filled(text(), GIVEN)).validate()
    with pytest.raises(ValueError, match="healthchek"):
        with_merges.from_yaml(filled(text(), GIVEN).replace("healthcheck:", "healthchek:"))


@pytest.mark.parametrize("missing", sorted(GIVEN))
def test_a_missing_required_variable_is_an_error(missing: str) -> None:
    given = {name: value for name, value in GIVEN.items() if name != missing}
    with pytest.raises(AssertionError, match=f"{missing} is asked for"):
        filled(text(), given)


def test_commands_and_settings_of_the_services_exist(services: dict[str, Any]) -> None:
    for name in ("migrate", "control", "worker", "console"):
        for command in _commands(services[name]["command"]):
            understood(command)
        given = services[name]["environment"].keys() - OF_TRACES
        assert {each.removesuffix("_FILE") for each in given} <= settings(), name
        check = services[name].get("healthcheck", {}).get("test")
        if check and check[1:4] == ["python", "-m", "sluice.actors.checkup"]:
            understood(check[1:])
            assert check[4:] == services[name]["command"][2:], name
    named = set(re.findall(r"\bSLUICE_[A-Z_]+", text())) - CHOICES
    assert {each.removesuffix("_FILE") for each in named} <= settings()


def test_optional_settings_are_passed_on_and_may_be_empty(services: dict[str, Any], tmp_path: Path) -> None:
    """A name without a value is set in the container if it is set outside. There it may also be empty."""
    for name in ("control", "worker", "console"):
        handed_on = {word for word, value in services[name]["environment"].items() if value is None}
        assert handed_on >= OF_TRACES | {
            *("SLUICE_TRACE", "SLUICE_BLOBS_URL", "SLUICE_SANDBOX", "SLUICE_TENANTS"),
            *("SLUICE_LINEAGE_URL", "SLUICE_LINEAGE_NAMESPACE", "SLUICE_LINEAGE_DATASET_NAMESPACE"),
        }
        empty = dict.fromkeys(handed_on, "")
        assert read_settings(empty, folder=tmp_path) == read_settings({}, folder=tmp_path)


def test_the_instructions_set_exactly_the_required_variables() -> None:
    for told in (text().partition("\nx-sluice")[0], (ROOT / "docs" / "deploy.md").read_text()):
        assert set(re.findall(r"export (SLUICE_[A-Z_]+)=", told)) == {*GIVEN}
        assert "sh ops/deploy/compose/secrets.sh" in told


def test_the_example_of_another_secret_fits_the_file(services: dict[str, Any]) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "deploy.md").read_text(), re.DOTALL)
    (block,) = [each for each in blocks if "services:" in each]
    compose_spec.PyOptions(apply_merge=True).from_yaml(block)
    added = yaml.safe_load(block)
    assert added["services"].keys() <= services.keys()
    for service in added["services"].values():
        assert service["secrets"] == [*added["secrets"]]
        files = {f"/run/secrets/{each}" for each in service["secrets"]}
        assert {*service["environment"].values()} == files
        assert {each.removesuffix("_FILE") for each in service["environment"]} <= settings()


def test_every_long_running_service_has_a_healthcheck(services: dict[str, Any]) -> None:
    staying = {name for name, service in services.items() if service.get("restart") == "unless-stopped"}
    assert staying == {"postgres", "rabbitmq", "redis", "control", "worker", "console"}
    assert {name for name, service in services.items() if "healthcheck" in service} == staying


def test_the_conditions_of_depends_on_can_be_met(services: dict[str, Any]) -> None:
    for service in services.values():
        for name, how in service.get("depends_on", {}).items():
            condition = how["condition"]
            assert condition != "service_healthy" or "healthcheck" in services[name]
            ends = services[name].get("restart") == "no"
            assert ends == (condition == "service_completed_successfully"), name
            assert how.get("required", True) or services[name].get("profiles")


def test_mounted_files_and_volumes_exist(services: dict[str, Any]) -> None:
    volumes = yaml.safe_load(text())["volumes"].keys()
    for service in services.values():
        for mount in service.get("volumes", []):
            if isinstance(mount, dict):
                continue
            source = mount.split(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).is_file(), source
            else:
                assert source in volumes


def test_a_missing_folder_of_definitions_is_an_error_and_the_instructions_make_it(
    services: dict[str, Any],
) -> None:
    for name in ("migrate", "control", "worker", "console"):
        (apps,) = [mount for mount in services[name]["volumes"] if isinstance(mount, dict)]
        assert (apps["source"], apps["target"], apps["read_only"]) == ("./apps", "/apps", True)
        assert apps["bind"] == {"create_host_path": False}
        assert services[name]["working_dir"] == apps["target"]
    for told in (text().partition("\nx-sluice")[0], (ROOT / "docs" / "deploy.md").read_text()):
        assert "mkdir -p apps" in told


def test_the_definitions_of_rabbitmq_change_nothing_outside_their_virtual_host() -> None:
    """An import of them must not rename the cluster of a server that is shared."""
    assert json.loads((RABBITMQ / "definitions.json").read_text()).keys() == {"policies"}


def test_ports_are_on_loopback_and_the_console_uses_the_published_one(
    services: dict[str, Any],
) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    listens = services["console"]["command"][-1].rpartition(":")[2]
    assert services["console"]["ports"] == [f"127.0.0.1:{listens}:{listens}"]
    assert f"'http://127.0.0.1:{listens}/healthz'" in services["console"]["healthcheck"]["test"][-1]


def test_no_process_is_killed_within_its_grace_time(services: dict[str, Any]) -> None:
    for name in ("control", "worker"):
        grace_s = parse_duration_s(services[name]["environment"]["SLUICE_SHUTDOWN_GRACE"])
        assert parse_duration_s(services[name]["stop_grace_period"]) >= grace_s + 10


def test_the_home_volume_belongs_to_the_user_of_the_image(services: dict[str, Any]) -> None:
    home = services["worker"]["environment"]["SLUICE_HOME"]
    assert f"home:{home}" in services["worker"]["volumes"]
    assert f"install --directory --owner=sluice --mode=0750 {home}" in (ROOT / "Dockerfile").read_text()


@pytest.fixture
def vhost(rabbitmqctl: str) -> Iterator[tuple[str, str]]:
    """Yield the URL of a virtual host for this test, on the RabbitMQ that ``rabbitmqctl`` controls, and its name."""
    with rabbitmq_url() as url:
        name = unquote(urlsplit(url).path[1:])
        if not name.startswith("sluice_test_"):
            pytest.skip("rabbitmqctl can set policies only of a RabbitMQ on this machine")
        yield url, name


def test_rabbitmq_accepts_the_policies_and_applies_them_to_our_queues(
    vhost: tuple[str, str], rabbitmqctl: str
) -> None:
    url, name = vhost
    definitions = json.loads((RABBITMQ / "definitions.json").read_text())
    assert {policy["vhost"] for policy in definitions["policies"]} == {"/"}
    ours = [{**policy, "vhost": name} for policy in definitions["policies"]]
    _run(rabbitmqctl, "import_definitions", given=json.dumps({"policies": ours}))
    broker = connect(url)
    try:
        broker.ensure(["fetch"])
    finally:
        broker.close()
    listed = _run(rabbitmqctl, "--formatter", "json", "list_queues", "-p", name, "name", "policy")
    names = [policy["name"] for policy in ours]
    assert {each["name"]: each["policy"] for each in json.loads(listed)} == {
        "fetch": names[1],
        "fetch.XQ": names[0],
    }


@pytest.mark.skipif(not DEBIAN_RABBITMQ.exists(), reason="a RabbitMQ is started that is installed here")
def test_rabbitmq_starts_with_the_settings() -> None:
    with rabbitmq(conf=[(RABBITMQ / "sluice.conf").read_text()]):
        pass


def _run(*command: str, given: str | None = None) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
