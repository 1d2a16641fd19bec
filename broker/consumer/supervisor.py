"""Several worker processes under one parent: dramatiq's command line as a function."""

import importlib
import multiprocessing
import os
import select
import signal
from collections.abc import Callable
from threading import Thread

from dramatiq import cli

#: Milliseconds that dramatiq's parent waits for its children to start before it supervises them. It needs to wait only
#: if there are other processes to fork. During the wait it does not notice a child's death; dramatiq's default is 30 s.
BOOT_MS = 1000
#: Seconds between two checks of a child whether its parent is alive: 0.25, so that it ends within half a second. It
#: checks only if the system cannot wait for the end of a process.
PARENT_CHECK_S = 0.25

#: Variable that names the function which each child process calls.
_BOOT = "SLUICE_WORKER_BOOT"


def supervise(boot: str, *, processes: int, grace_s: float) -> int:
    """Start worker processes, wait for their end, and return dramatiq's exit code, 0 for an orderly end.

    ``boot`` names a function as ``module:function``. Each process calls it without arguments. It creates the process's
    service, calls ``enlist`` on it, and sets up logging. SIGTERM and SIGINT end all processes in order; messages that
    still run after ``grace_s`` are given back. When one process dies, the others are ended too: the service manager
    (systemd, Kubernetes) starts the worker again. When this process dies without ending them (SIGKILL), they kill
    themselves.
    """
    os.environ[_BOOT] = boot
    arguments = [
        f"{__name__}:boot_child",
        *("--processes", str(processes)),
        *("--worker-shutdown-timeout", str(int(grace_s * 1000))),
        *("--worker-fork-timeout", str(BOOT_MS)),
        "--skip-logging",
    ]
    parser = cli.make_argument_parser()
    return int(cli.main(parser.parse_args(arguments)))


def boot_child() -> None:
    """Call the function that ``supervise`` was given. Each child of dramatiq's parent calls this."""
    Thread(target=_end_with_parent, name="parent", daemon=True).start()
    module, _, function = os.environ[_BOOT].partition(":")
    getattr(importlib.import_module(module), function)()


def _end_with_parent() -> None:
    """Kill this process once its parent is dead. The guards of its runs then kill the runs.

    The parent's death is the end of a pipe that ``multiprocessing`` keeps for that, on Linux and macOS alike. A process
    that a sibling has forked may keep that pipe open, so the parent's number is compared too. That also covers a parent
    that died before this thread began. Linux can wait for the parent itself by a descriptor of it, without checks.
    PR_SET_PDEATHSIG exists on Linux alone, and follows a thread.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("boot_child is for the child processes of supervise")
    # A fork server is the parent of its children, and ends with the process that started it.
    has_fork_server = multiprocessing.get_start_method() == "forkserver"
    number = os.getppid() if has_fork_server else parent.pid

    def is_alive() -> bool:
        return os.getppid() == number and parent.is_alive()

    _await_end(parent.pid, is_alive)
    while is_alive():
        parent.join(PARENT_CHECK_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _await_end(process: int | None, is_alive: Callable[[], bool]) -> None:
    """Wait for the end of another process. Return at once if the system cannot do that, or if the process is dead."""
    if process is None or not hasattr(os, "pidfd_open"):
        return
    try:
        descriptor = os.pidfd_open(process)
    except OSError:  # The kernel is older than 5.3, a sandbox forbids it, or no such process exists any more.
        return
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        # If the process was dead before, another one may have got its number.
        if is_alive():
            ended.poll()
    finally:
        os.close(descriptor)
