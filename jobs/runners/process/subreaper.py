"""Supervisor process of one run: starts the command and ends all processes that descend from it. See ``supervised``.

It is run as a file by an interpreter that has loaded nothing else, so it imports none of our modules.

Invariant, on Linux: every process that descends from the command also descends from this process, for as long as this
process lives. The kernel gives an orphan to the nearest *subreaper* above it. That is this process, whatever session,
group or environment the orphan has set. When the command has ended, or the worker requests it, all children are killed
and waited for until the kernel reports that none is left. On other systems only the command's group is ended.

It exits as the command did, with the same code or signal. Its stdin ends when the worker wants everything ended, or is
dead. SIGTERM is passed on to all processes. If it ends the run by itself, it writes the reason to the descriptor that
its argument names.
"""

import ctypes
import errno
import marshal
import os
import select
import signal
import sys
import time

#: Seconds to wait for killed processes (a dead network disk may block one). After this they are left to the kernel.
END_S = 10.0
#: Seconds between two counts of the processes. Counting takes at most a twentieth of the time (``COUNT_SHARE``).
COUNT_EVERY_S = 0.1
COUNT_SHARE = 20
SHELL = "/bin/sh"
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
#: Processes of a sandbox: ``bwrap`` itself and the first process inside.
_FENCE_PROCESSES = 2


def main() -> None:
    errand = marshal.load(sys.stdin.buffer)  # noqa: S302  # It comes from our own worker through our own pipe.
    report = int(sys.argv[1])
    os.set_inheritable(report, False)  # noqa: FBT003  # The command must not inherit it.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken = _hear_signals()
    leader = os.fork()
    if leader == 0:
        _become(errand)
    _let_go(errand["inherit"])
    family = _Family(leader, enclosed=errand["enclosed"])
    too_many = _watch(family, woken, errand["processes"])
    family.end()
    if too_many:
        os.write(report, b"processes")
    elif family.is_out_of(errand["cpu_s"]):
        os.write(report, b"cpu")
    _leave_like(family.status)


def _hear_signals() -> int:
    """Return a descriptor that receives the numbers of signals. No signal ends this process or interrupts a call."""
    heard, told = os.pipe()
    for descriptor in (heard, told):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return heard


def _become(errand: dict) -> None:  # type: ignore[type-arg] # marshal knows plain dictionaries
    """Set the limits and execute the command, in the child. The child has no other thread, so there is no race."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY) if errand["stdin"] is None else errand["stdin"], 0)
        signal.set_wakeup_fd(-1)
        _hear_as_usual()
        if sys.platform == "linux" and not errand["privileged"]:
            ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _execute(errand["argv"], errand["env"], errand["limits"])
    except MemoryError:
        os.write(2, b"the memory limit leaves no room to start anything\n")
    except (OSError, ValueError) as error:
        complaint = getattr(error, "strerror", None) or str(error)
        os.write(2, f"{errand['argv'][0]}: {complaint}\n".encode("utf-8", "replace"))
        os._exit(127 if getattr(error, "errno", 0) == errno.ENOENT else 126)
    finally:
        os._exit(126)


def _hear_as_usual() -> None:
    """Reset all signals to their defaults, so that the command finds no signal ignored. Python, this module or the
    parent of the worker may ignore some: a shell does so for the processes that it starts in the background.
    """
    for number in signal.valid_signals():
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)


def _execute(argv: list[str], env: dict[str, str], limits: list[tuple[int, int, int]]) -> None:
    """Set the limits and execute the command. A file without an interpreter line is run by the shell, as at a
    prompt.
    """
    import resource  # noqa: PLC0415  # The supervisor process itself does not need it.

    for number, soft, hard in limits:
        resource.setrlimit(number, (soft, hard))
    try:
        os.execve(argv[0], argv, env)  # noqa: S606  # Starting without a shell is intended.
    except OSError as error:
        if error.errno == errno.ENOENT and os.path.exists(argv[0]):  # noqa: PTH110  # pathlib is slow to import.
            raise OSError(errno.ENOENT, "its first line names an interpreter that does not exist") from None
        if error.errno != errno.ENOEXEC:
            raise
        os.execve(SHELL, [SHELL, *argv], env)  # noqa: S606  # The shell runs only the command's own file.


def _let_go(inherited: list[int]) -> None:
    """Close our copies of the command's pipes, so that they end with the command's processes, even if we live
    longer.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    for descriptor in (*inherited, nowhere):
        os.close(descriptor)


class _Family:
    """The command and all its descendants. ``status`` is the command's wait status, None while it runs.

    An ``enclosed`` command is led by the first process of its sandbox. The end of that process would end all others at
    the same time; it exits when they have.
    """

    def __init__(self, leader: int, *, enclosed: bool) -> None:
        self.status: int | None = None
        self._leader = leader
        self._enclosed = enclosed
        self._cpu_s = 0.0

    def reap(self) -> bool:
        """Reap ended children. Return False if no child is left."""
        try:
            while True:
                pid, status, used = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._leader:
                    self.status, self._cpu_s = status, used.ru_utime + used.ru_stime
        except ChildProcessError:
            return False

    def is_out_of(self, cpu_s: int | None) -> bool:
        """Return whether the command ignored the signal of its CPU limit until the kernel killed it."""
        killed = self.status is not None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status)
        return cpu_s is not None and killed == signal.SIGKILL and self._cpu_s >= cpu_s

    def count(self) -> int:
        return len(self.members()) - (_FENCE_PROCESSES if self._enclosed else 0)

    def signal(self, number: int) -> None:
        spared = self._leader if self._enclosed and number != signal.SIGKILL else None
        for pid in self.members():
            if pid == spared:
                continue
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
        if sys.platform != "linux":
            try:
                os.killpg(self._leader, number)
            except (ProcessLookupError, PermissionError):
                return

    def members(self) -> list[int]:
        """Return all descendants, by the parents that ``/proc`` lists. A process may fork during this, so callers
        repeat it.
        """
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208  # pathlib is too slow.
            if name.isdigit():
                children.setdefault(_parent(name), []).append(int(name))
        found = [os.getpid()]
        for pid in found:
            found += children.get(pid, ())
        return found[1:]

    def end(self) -> None:
        """Kill until no process is left. A process that loses its parent becomes our child and is killed next."""
        until = time.monotonic() + END_S
        while self.reap() and time.monotonic() < until:
            self.signal(signal.SIGKILL)
            time.sleep(0.002)


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # pathlib is slow to import.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _watch(family: _Family, woken: int, processes_max: int | None) -> bool:
    """Wait until the command has ended or the worker ends it. Return whether it had too many processes."""
    pause_s = None if processes_max is None else COUNT_EVERY_S
    while family.reap() and family.status is None:
        ready, _, _ = select.select([0, woken], [], [], pause_s)
        if 0 in ready:
            return False
        if woken in ready and signal.SIGTERM in os.read(woken, 4096):
            family.signal(signal.SIGTERM)
        if processes_max is not None:
            began = time.monotonic()
            if family.count() > processes_max:
                return True
            pause_s = max(COUNT_EVERY_S, COUNT_SHARE * (time.monotonic() - began))
    return False


def _leave_like(status: int | None) -> None:
    if status is None:
        os.kill(os.getpid(), signal.SIGKILL)
    elif os.WIFSIGNALED(status):
        import resource  # noqa: PLC0415  # Few commands end by a signal.

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status or 0) & 0xFF)


if __name__ == "__main__":
    main()
