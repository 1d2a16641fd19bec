"""A program that a test runs, kills, and starts again, and that never outlives the test."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Where the code is that runs here, and the tests.
ROOT = Path(__file__).parents[1]


class Program:
    """A program in a session of its own, so that its group is it and what it started, and nobody else.

    It works in ``folder/data`` and says what it says in ``log``, mostly ``folder/output.log``. A *leash* kills it,
    and removes the folder, when this process dies without a chance to do so.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path | None = None
    ) -> None:
        self._command, self._folder, self._environment = command, folder, environment
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
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        # ``cat`` ends when the last holder of the pipe's other end does, which is this process. That it has ended is
        # heard by the pipe that it would write to, for it is no child of ours.
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
        """Of the process that was started last, which leads its session; for a program that was not killed since."""
        if self._process is None:
            raise RuntimeError(f"{self._command[0]} has not been started")
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Of one that has ended by itself; None while it runs, and after a ``kill``."""
        return None if self._process is None else self._process.poll()

    def stop(self) -> None:
        """SIGSTOP to it and all that it started: they stand still until ``go_on``, or until they are killed."""
        os.killpg(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def tell_to_end(self) -> None:
        """SIGTERM to it alone; it tells what it has started."""
        os.kill(self.pid, signal.SIGTERM)

    def kill_alone(self) -> None:
        """SIGKILL to it, and not to what it started."""
        os.kill(self.pid, signal.SIGKILL)

    def kill_survivors(self) -> bool:
        """SIGKILL to what it started, once it has ended itself; whether there was any left."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL to it and all that it started."""
        if self._leash is not None:
            os.killpg(self._leash.pid, signal.SIGKILL)  # First: later it could hit a stranger's group.
            self._leash.communicate()
            self._leash = None
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process = None

    def wipe(self) -> None:
        """Remove its data; for a program that is not running."""
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    def complaint(self) -> str | None:
        """Why it is not running although it was started, in its own words; None while it runs."""
        if self._process is None or self._process.poll() is None:
            return None
        said = self._log.read_text(errors="replace")[-2000:]
        return f"{self._command[0]} left with {self._process.returncode}. It said:\n{said}"
