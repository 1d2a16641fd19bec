"""Functions as users might write them, for runs in a process of their own."""

# ruff: noqa: T201  # Functions of users may print.

import asyncio
import json
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from sluice import Fatal, Retry


def nothing():
    pass


def stolen():
    raise Fatal("this card is stolen")


def busy():
    return Retry("the till is busy", after="5m")


def show_everything(job, date):
    facts = {
        "date": date,
        "app": job.app,
        "key": job.key,
        "ids": job.ids,
        "kwargs": job.kwargs,
        "work_ids": job.work_ids,
        "span": job.span,
        "partitions": job.partitions,
        "round": job.round,
        "claim": job.claim,
        "token": job.token,
        "cancelled": job.cancelled,
    }
    print(json.dumps(facts))


def show_step(start, end, partitions, span):
    print(json.dumps([start, end, partitions, span]))


def show_chunk(work_ids=None, **kwargs):
    print(json.dumps([type(work_ids).__name__, work_ids, kwargs]))


def count_chunk(job):
    print(len(job.work_ids))


def talk(job):
    print("first")
    job.log.info("second %d", 2)
    print("third")
    print("aside", file=sys.stderr)
    job.log.debug("fourth")
    job.progress(1, 3)
    job.progress(2)


def talk_by_loggers():
    print("first")
    logging.getLogger("acme.shop").info("second %d", 2)
    logging.getLogger("acme.shop").debug("never")
    print("third")


def talk_by_loggers_of_its_own():
    logging.basicConfig(format="%(message)s", level=logging.DEBUG, force=True)
    logging.getLogger("acme.shop").debug("as it likes")


def fail():
    raise ValueError("no such day")


def leave():
    sys.exit(3)


def interrupt():
    raise KeyboardInterrupt


async def wait_and_fail():
    await asyncio.sleep(0)
    raise KeyError("gone")


async def wait_and_print():
    await asyncio.sleep(0)
    print("waited")


def refuse(colour):
    print(colour)


def kill_itself():
    print("last words")
    os.kill(os.getpid(), signal.SIGKILL)


def vanish():
    os._exit(7)


def print_and_sleep():
    print("a line")
    time.sleep(600)


def print_much():
    chunk = b"x" * (1 << 20)
    for _ in range(100):
        os.write(1, chunk)


def stop_when_told(job, at):
    note_pids(at)
    while not job.cancelled:
        time.sleep(0.005)
    print("cleaned up")


def never_stop(at):
    note_pids(at)
    while True:
        time.sleep(1)


def start_another_and_never_stop(at):
    note_pids(at, subprocess.Popen(["sleep", "600"]).pid)
    time.sleep(600)


def hold_the_lock_of_the_interpreter(at):
    note_pids(at)
    re.match("(a+)+$", "a" * 64 + "b")


def leave_a_thread_running():
    threading.Thread(target=time.sleep, args=(600,)).start()
    print("done")


def show_surroundings():
    print(
        json.dumps(
            {"cwd": str(Path.cwd()), "env": dict(os.environ), "path": sys.path, "stdin": sys.stdin.read()}
        )
    )


def acknowledge_two(job):
    job.done("2024-04-01")
    job.done("2024-04-02")


def ask_for_a_transaction(job):
    job.transaction()


def write_nonsense_to_every_descriptor():
    for descriptor in range(3, 32):
        try:
            os.write(descriptor, b"\xff nonsense\n" + b"y" * (2 << 20) + b"\n")
        except OSError:
            continue


def start_a_process_that_stays():
    subprocess.Popen(["sleep", "600"])
    print("started it")


def list_descriptors_of_a_child():
    subprocess.run(["ls", "/proc/self/fd"], check=True, close_fds=False)


def note_pids(at, *others):
    Path(at).write_text("".join(f"{pid}\n" for pid in (os.getpid(), *others)))


def prints_its_limit_of_open_files() -> None:
    print(resource.getrlimit(resource.RLIMIT_NOFILE))


def works_without_end() -> None:
    while True:
        pass


def prints_much() -> None:
    print("x" * 999_999)


def looks_around(job):
    """Print whether the folder can be written to from inside the sandbox."""
    folder = Path(job.kwargs["folder"])
    try:
        (folder / "new").write_text("x")
        print("wrote")
    except OSError as error:
        print(error.strerror)
    job.progress(1, 2)
