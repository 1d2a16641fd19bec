"""``systemctl`` for a test: starts and stops the units of a folder as systemd would, as far as their commands go.

``python -m tests.ops.systemctl ROOT enable --now UNIT …`` reads the units in ``ROOT/etc/systemd/system``. Paths below
``/etc``, ``/opt`` and ``/var`` are those below ROOT. A unit gets the environment and the credentials that its file
names, and no other variable. Users and restrictions are ignored, because a test may not be root. A oneshot runs to its
end. Other units run in the background until they are stopped, and log to ``ROOT/run/UNIT.log``.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_TOPS = ("/etc/", "/opt/", "/var/")
#: Seconds after which a unit that was stopped has to be gone.
STOP_S_MAX = 60.0


class UnitRunner:
    """Units below a folder, with the processes that they have started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._run = root / "run"
        self._run.mkdir(exist_ok=True)

    def start(self, name: str) -> None:
        """Start a unit. RuntimeError if a oneshot fails."""
        entries = list(self._entries(name))
        command = self._command(entries)
        environment = self._environment(name, entries)
        folder = self._here(next(value for key, value in entries if key == "WorkingDirectory"))
        log = self._run / f"{name}.log"
        with log.open("ab") as out:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True
            )
        if ("Type", "oneshot") in entries:
            if process.wait() != 0:
                raise RuntimeError(f"{name} has failed: {log.read_text()}")
            return
        (self._run / f"{name}.pid").write_text(str(process.pid))

    def stop(self, name: str) -> None:
        """Stop a unit if it runs. Only its main process gets the signal, as with ``KillMode=mixed``."""
        place = self._run / f"{name}.pid"
        if not place.exists():
            return
        pid = int(place.read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S_MAX
        while _is_alive(pid):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                raise RuntimeError(f"{name} does not stop")
            time.sleep(0.05)
        place.unlink()

    def stop_all(self) -> None:
        for place in self._run.glob("*.pid"):
            self.stop(place.stem)

    def _entries(self, name: str) -> Iterator[tuple[str, str]]:
        template, at, instance = name.partition("@")
        text = (self.root / "etc/systemd/system" / f"{template}{at}.service").read_text()
        for line in text.splitlines():
            key, sign, value = line.partition("=")
            if sign and not line.startswith(("#", "[")):
                credentials = str(self._run / "credentials" / name)
                yield key, value.replace("%i", instance).replace("%d", credentials)

    def _environment(self, name: str, entries: list[tuple[str, str]]) -> dict[str, str]:
        found = {"PATH": os.defpath, "HOME": str(self.root)}
        credentials = self._run / "credentials" / name
        credentials.mkdir(parents=True, exist_ok=True)
        for key, value in entries:
            if key == "Environment":
                found |= dict(each.split("=", 1) for each in value.split())
            elif key == "EnvironmentFile" and (place := self._here(value.removeprefix("-"))).exists():
                lines = [line for line in place.read_text().splitlines() if line[:1] not in ("", "#")]
                found |= dict(line.split("=", 1) for line in lines)
            elif key == "LoadCredential":
                credential, _, source = value.partition(":")
                (credentials / credential).write_text(self._here(source).read_text())
        return {
            key: str(self._here(value)) if value.startswith(_TOPS) else value for key, value in found.items()
        }

    def _command(self, entries: list[tuple[str, str]]) -> list[str]:
        (line,) = [value for key, value in entries if key == "ExecStart"]
        for key, value in entries:
            if key == "Environment":
                for each in value.split():
                    variable, _, text = each.partition("=")
                    line = line.replace(f"${{{variable}}}", text)
        return [str(self._here(word)) if word.startswith(_TOPS) else word for word in shlex.split(line)]

    def _here(self, path: str) -> Path:
        return self.root / path.removeprefix("/") if path.startswith(_TOPS) else Path(path)


def _is_alive(pid: int) -> bool:
    """Return whether the process runs. One that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def main(words: list[str]) -> None:
    runner = UnitRunner(Path(words[0]))
    match words[1:]:
        case ["daemon-reload"]:
            pass
        case ["enable", "--now", *units]:
            for unit in units:
                runner.start(unit)
        case ["restart", *units]:
            for unit in units:
                runner.stop(unit)
                runner.start(unit)
        case other:
            raise ValueError(f"systemctl {' '.join(other)} is not known here")


if __name__ == "__main__":
    main(sys.argv[1:])
