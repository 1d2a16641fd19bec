"""The process that keeps one run together: it starts the command, and ends all that came of it. See ``kept``.

It is run by itself, as a file, by an interpreter that has read nothing else; so it imports none of our modules.

What holds, on Linux: every process that descends from the command descends from this one for as long as it lives. One
whose parent is gone is handed to the nearest *subreaper* above it, and that is this process, whatever session, group
or environment it has made itself. So when the command has ended, or when we are told to, all children that there are
are killed and waited for until the kernel says that there are none. Elsewhere only the command's group is ended.

It exits as the command did, by the same code or signal. It is told by its stdin, which ends when the worker wants
everything ended, or is dead; SIGTERM is passed on to all. On the descriptor that its argument names it says why it
ended the run by itself.
"""

import ctypes
import errno
import marshal
import os
import select
import signal
import sys
import time

#: What is killed and does not go (a dead network disk) is left to the kernel after this time.
END_S = 10.0
#: Processes are counted this often, and no more than a twentieth of the time is spent on it.
COUNT_EVERY_S = 0.1
COUNT_SHARE = 20
SHELL = "/bin/sh"
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
#: Those of a sandbox: the one that was started, and the first one inside.
_FENCE_PROCESSES = 2


def main() -> None:
    errand = marshal.load(sys.stdin.buffer)  # noqa: S302  # It comes from our own worker, by our own pipe.
    report = int(sys.argv[1])
    os.set_inheritable(report, False)  # noqa: FBT003  # The command has no part in it.
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
    """Signals make this descriptor readable, by their numbers; none of them ends this process or a call."""
    heard, told = os.pipe()
    for descriptor in (heard, told):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return heard


def _become(errand: dict) -> None:  # type: ignore[type-arg] # marshal knows plain dictionaries
    """In the child: put on the limits and turn into the command. It has no other thread, so there is no race."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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
    """The command is to find no signal ignored, be it by Python, by us, or by whoever started the worker: a shell has
    what it starts in the background ignore some."""
    for number in signal.valid_signals():
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)


def _execute(argv: list[str], env: dict[str, str], limits: list[tuple[int, int, int]]) -> None:
    """What has no first line that names its interpreter is the shell's, as it is for whoever types its name."""
    import resource  # noqa: PLC0415  # The keeper itself has no use for it.

    for number, soft, hard in limits:
        resource.setrlimit(number, (soft, hard))
    try:
        os.execve(argv[0], argv, env)  # noqa: S606  # Without a shell is the point of it.
    except OSError as error:
        if error.errno == errno.ENOENT and os.path.exists(argv[0]):  # noqa: PTH110  # pathlib is slow to import.
            raise OSError(errno.ENOENT, "its first line names an interpreter that is not there") from None
        if error.errno != errno.ENOEXEC:
            raise
        os.execve(SHELL, [SHELL, *argv], env)  # noqa: S606  # The command's own text is what it runs.


def _let_go(inherited: list[int]) -> None:
    """The command's pipes end when all of the command has, whatever becomes of us."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    for descriptor in (*inherited, nowhere):
        os.close(descriptor)


class _Family:
    """The command and all that descends from it. ``status`` is what ``wait`` says of it, None while it runs.

    An ``enclosed`` one is led by its fence, whose end would end all the rest at once; it leaves when they have.
    """

    def __init__(self, leader: int, *, enclosed: bool) -> None:
        self.status: int | None = None
        self._leader = leader
        self._enclosed = enclosed
        self._cpu_s = 0.0

    def reap(self) -> bool:
        """Take leave of those who have ended; False once there is nobody left."""
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
        """Whether the command paid no heed to the signal for this, until it was killed without another word."""
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
        """By what the kernel says of everybody's parent; an answer from before somebody forked, so ask again."""
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208  # pathlib is slow.
            if name.isdigit():
                children.setdefault(_parent(name), []).append(int(name))
        found = [os.getpid()]
        for pid in found:
            found += children.get(pid, ())
        return found[1:]

    def end(self) -> None:
        """Kill until there is nobody. Whoever loses his parent by it becomes our child, and is next."""
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
    """Wait until the command has ended, or somebody wants it ended. Whether it was because there are too many."""
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
        import resource  # noqa: PLC0415  # Few commands end so.

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status or 0) & 0xFF)


if __name__ == "__main__":
    main()
