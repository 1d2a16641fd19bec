"""The systemd units: systemd accepts them, and Sluice accepts the commands that they start."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from sluice.jobs.text.units import parse_duration_s
from tests.ops.deployed import settings, understood
from tests.ops.typist import ROOT

UNITS = ROOT / "ops" / "deploy" / "systemd"
BIN = "/opt/sluice/bin/"
#: Options as an operator writes them, taken from the comment that explains them.
_AUTOSCALE = re.compile(r"^#\s+SLUICE_AUTOSCALE=(.+)$", re.MULTILINE)
#: Variables that only the unit itself uses.
OTHERS = {"SLUICE_AUTOSCALE"}

Unit = dict[str, list[str]]


def _unit(name: str) -> Unit:
    """Return the values of each key in order, from all sections. systemd itself checks the sections."""
    found: Unit = defaultdict(list)
    for line in (UNITS / name).read_text().splitlines():
        key, sign, value = line.partition("=")
        if sign and not line.startswith(("#", "[")):
            found[key].append(value)
    return found


def _command(name: str) -> list[str]:
    (line,) = _unit(name)["ExecStart"]
    assert line.startswith(BIN)
    (options,) = _AUTOSCALE.findall((UNITS / name).read_text()) or [""]
    line = line.replace("$SLUICE_AUTOSCALE", options)
    for setting in _unit(name)["Environment"]:
        for key, value in (each.split("=", 1) for each in setting.split()):
            if key.endswith("_FILE"):
                continue
            line = line.replace(f"${{{key}}}", value.replace("%i", "fetch"))
    assert "$" not in line
    return shlex.split(line.removeprefix(BIN))


def _names() -> list[str]:
    return sorted(path.name for path in UNITS.glob("*.service"))


def _environment() -> dict[str, str]:
    lines = (UNITS / "sluice.env.example").read_text().splitlines()
    said = [line.removeprefix("# ") for line in lines if line.removeprefix("# ").startswith("SLUICE_")]
    return dict(line.split("=", 1) for line in said)


def test_each_part_has_a_unit() -> None:
    assert _names() == [
        "sluice-autoscale.service",
        "sluice-console.service",
        "sluice-control.service",
        "sluice-migrate.service",
        "sluice-worker@.service",
    ]


@pytest.mark.parametrize("name", _names())
def test_commands_and_settings_of_a_unit_exist(name: str) -> None:
    understood(_command(name))
    named = set(re.findall(r"SLUICE_[A-Z_]+", (UNITS / name).read_text())) - OTHERS
    assert {each.removesuffix("_FILE") for each in named} <= settings()


#: By unit: the folder of its secrets, which has the name of the role in the database, and the secrets.
SECRETS = {
    "sluice-migrate.service": ("owner", {"ledger-url"}),
    "sluice-control.service": ("control", {"ledger-url", "broker-url"}),
    "sluice-autoscale.service": ("control", {"ledger-url", "broker-url"}),
    "sluice-worker@.service": ("worker", {"ledger-url", "broker-url"}),
    "sluice-console.service": ("console", {"ledger-url", "broker-url", "console-token"}),
}


@pytest.mark.parametrize("name", _names())
def test_each_part_is_given_its_own_secrets_and_no_other(name: str) -> None:
    folder, secrets = SECRETS[name]
    loaded = dict(each.split(":", 1) for each in _unit(name)["LoadCredential"])
    assert loaded == {secret: f"/etc/sluice/secrets/{folder}/{secret}" for secret in secrets}
    given = dict(each.split("=", 1) for line in _unit(name)["Environment"] for each in line.split())
    files = {key: value for key, value in given.items() if key.endswith("_FILE")}
    assert files == {f"SLUICE_{each.upper().replace('-', '_')}_FILE": f"%d/{each}" for each in secrets}


def test_no_part_runs_as_the_user_of_another() -> None:
    """A process can read the environment and the credentials of all other processes of its user."""
    users = {name: _unit(name)["User"][0] for name in _names()}
    assert users.pop("sluice-autoscale.service") == users["sluice-worker@.service"], "it starts workers"
    assert len(set(users.values())) == len(users)
    assert {_unit(name)["Group"][0] for name in _names()} == {"sluice"}


def test_the_shared_environment_has_no_secret() -> None:
    secret = re.compile("URL$|TOKEN|KEYS|PASSWORD")
    named = {name: value for name, value in _environment().items() if secret.search(name)}
    assert named.keys() == {"SLUICE_BLOBS_URL", "SLUICE_CONSOLE_TOKENS"}
    assert named["SLUICE_CONSOLE_TOKENS"].startswith("/etc/sluice/")


@pytest.mark.parametrize("name", _names())
def test_no_part_can_get_more_rights_or_all_of_the_memory(name: str) -> None:
    unit = _unit(name)
    assert (unit["CapabilityBoundingSet"], unit["NoNewPrivileges"]) == ([""], ["yes"])
    assert unit["ProtectSystem"] == ["strict"]
    assert unit["MemoryMax"]


def test_the_settings_of_the_example_environment_exist() -> None:
    assert _environment().keys() <= settings()


@pytest.mark.parametrize("name", [each for each in _names() if "migrate" not in each])
def test_a_unit_starts_after_the_migrations_and_is_restarted(name: str) -> None:
    unit = _unit(name)
    assert "sluice-migrate.service" in unit["Wants"][0].split()
    assert "sluice-migrate.service" in unit["After"][0].split()
    assert (unit["Restart"], unit["RestartSec"]) == (["always"], ["2"])


@pytest.mark.parametrize("name", _names())
def test_a_late_database_or_an_upgrade_stops_no_unit_for_good(name: str) -> None:
    """With Requires=, a failed attempt would cancel the start of this unit, and a restart would stop it."""
    unit = _unit(name)
    assert not unit.keys() & {"Requires", "Requisite", "BindsTo", "PartOf"}
    assert unit["StartLimitIntervalSec"] == ["0"], "systemd never stops to start it"


def test_migrations_are_tried_again_until_they_succeed() -> None:
    unit = _unit("sluice-migrate.service")
    assert (unit["Type"], unit["Restart"]) == (["oneshot"], ["on-failure"])
    assert float(unit["RestartSec"][0]) > 0
    assert "TimeoutStartSec" not in unit, "a oneshot has no limit, and neither has a migration"


@pytest.mark.parametrize(
    "name", ["sluice-autoscale.service", "sluice-control.service", "sluice-worker@.service"]
)
def test_no_process_is_killed_within_its_grace_time(name: str) -> None:
    (stop_s,) = map(float, _unit(name)["TimeoutStopSec"])
    assert stop_s >= parse_duration_s(_environment()["SLUICE_SHUTDOWN_GRACE"]) + 10
    # Only the main process gets SIGTERM, and it stops the others. Otherwise workers would get the signal twice.
    assert _unit(name)["KillMode"] == ["mixed"]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze, which verifies units, is missing"
)
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """Replace the started programs by existing ones, because systemd checks that they exist."""
    for name in _names():
        text = (UNITS / name).read_text()
        text = re.sub(rf"{BIN}\S+", sys.executable, text).replace("User=sluice", "User=root")
        (tmp_path / name).write_text(text.replace("Group=sluice", "Group=root"))
    shutil.copy(tmp_path / "sluice-worker@.service", tmp_path / "sluice-worker@fetch.service")
    units = [str(tmp_path / name) for name in [*_names(), "sluice-worker@fetch.service"]]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "sluice" in line]
    assert (done.returncode, ours) == (0, [])


def _configured(name: str) -> list[list[str]]:
    """Return the fields of each line of a file for sysusers.d or tmpfiles.d."""
    return [
        shlex.split(line) for line in (UNITS / name).read_text().splitlines() if line[:1] not in ("", "#")
    ]


def test_users_and_groups_of_the_units_are_declared() -> None:
    declared = {words[1] for words in _configured("sluice.sysusers") if words[0] == "u"}
    assert declared == {_unit(name)["User"][0] for name in _names()}
    groups = {words[1] for words in _configured("sluice.sysusers") if words[0] == "g"}
    assert groups == {_unit(name)["Group"][0] for name in _names()}
    assert {words[2] for words in _configured("sluice.sysusers") if words[0] == "u"} == {"-:sluice"}


def test_folders_of_the_units_are_declared() -> None:
    folders = {words[1]: words[2:5] for words in _configured("sluice.tmpfiles")}
    for name in _names():
        unit = _unit(name)
        assert unit["WorkingDirectory"][0] in folders
        for writable in unit.get("ReadWritePaths", []):
            assert writable.removeprefix("-") in folders
        for secret in unit["LoadCredential"]:
            folder = str(Path(secret.split(":", 1)[1]).parent)
            assert folders[folder] == ["0700", "root", "root"]
    blobs = _environment()["SLUICE_BLOBS_URL"]
    assert folders[blobs] == ["2770", _unit("sluice-worker@.service")["User"][0], "sluice"]


@pytest.mark.skipif(
    shutil.which("systemd-sysusers") is None or os.geteuid() != 0,
    reason="systemd-sysusers and systemd-tmpfiles, which need root, cannot run here",
)
def test_systemd_makes_the_users_and_folders(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for program, file in (("sysusers", "sluice.sysusers"), ("tmpfiles", "sluice.tmpfiles")):
        create = ["--create"] if program == "tmpfiles" else []
        command = [f"systemd-{program}", *create, f"--root={tmp_path}", str(UNITS / file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("sluice.")) == (0, 0), done.stderr
    users = {
        line.split(":")[0]: line.split(":") for line in (tmp_path / "etc/passwd").read_text().splitlines()
    }
    (group,) = [
        line.split(":")[2]
        for line in (tmp_path / "etc/group").read_text().splitlines()
        if line.startswith("sluice:")
    ]
    for words in _configured("sluice.sysusers"):
        if words[0] == "u":
            assert users[words[1]][3] == group
            assert users[words[1]][6].endswith("nologin")
    for kind, path, mode, owner, *_ in _configured("sluice.tmpfiles"):
        assert kind == "d"
        made = (tmp_path / path.removeprefix("/")).stat()
        assert oct(made.st_mode & 0o7777) == oct(int(mode, 8)), path
        assert made.st_uid == (0 if owner == "root" else int(users[owner][2]))
