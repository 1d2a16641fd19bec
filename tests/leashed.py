"""A program that a test runs, kills and starts again, and that never outlives the test."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Folder of the code and the tests.
ROOT = Path(__file__).parents[1]


class Program:
    """Program in a session of its own. Its process group contains only the program and its child processes.

    It works in ``folder/data`` and logs to ``log``. Default: ``folder/output.log``. If this process dies without a
    chance to do so, a *leash* kills the program and removes the folder.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path | None = None
    ) -> None:
        self._command, self._folder, self.environment = command, folder, environment
        self._log = log or folder / "output.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._leash: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        data = self._folder / "data"
        data.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=data,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        # ``cat`` ends when its input pipe is closed, at the latest when this process ends. It is not a child of this
        # process, so its own end is noticed by the closed output pipe.
        self._leash = subprocess.Popen(
            [
                "/bin/sh",
                "-c",
                'cat; kill -s KILL -- "-$0"; rm -rf "$1"',
                str(self._process.pid),
                self._folder,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id of the last start. The process leads its session. Valid unless the program was killed since."""
        if self._process is None:
            raise RuntimeError(f"{self._command[0]} has not been started")
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Exit code if it has ended by itself. None while it runs, and after ``kill``."""
        return None if self._process is None else self._process.poll()

    def stop(self) -> None:
        """Send SIGSTOP to the program and its processes. They are stopped until ``go_on``, or until they are killed."""
        os.killpg(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def tell_to_end(self) -> None:
        """Send SIGTERM to the program alone. It stops its own processes."""
        os.kill(self.pid, signal.SIGTERM)

    def kill_alone(self) -> None:
        """Send SIGKILL to the program, but not to its processes."""
        os.kill(self.pid, signal.SIGKILL)

    def kill_survivors(self) -> bool:
        """Send SIGKILL to the processes of a program that has ended. Return whether any was left."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Send SIGKILL to the program and its processes."""
        if self._leash is not None:
            os.killpg(self._leash.pid, signal.SIGKILL)  # First: later its id could be of another group.
            self._leash.communicate()
            self._leash = None
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process = None

    def wipe(self) -> None:
        """Remove the data of a program that is not running."""
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    def complaint(self) -> str | None:
        """Return the reason if it has ended although it was started, with the end of its log. None while it runs."""
        if self._process is None or self._process.poll() is None:
            return None
        said = self._log.read_text(errors="replace")[-2000:]
        return f"{self._command[0]} left with {self._process.returncode}. It said:\n{said}"
