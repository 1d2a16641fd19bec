"""Several worker processes under one parent: dramatiq's command line as a function."""

from dramatiq import cli

#: So long dramatiq's parent waits for its children to start before it looks after them. It needs to only
#: where there are other processes to fork, and is deaf meanwhile: to a child's death for 30 s, by default.
BOOT_MS = 1000


def supervise(boot: str, *, processes: int, grace_s: float) -> int:
    """Starts worker processes and waits for their end; the exit code is dramatiq's, 0 for an orderly one.

    ``boot`` names a function as ``module:function``. Each process calls it, without arguments; it
    makes the process's service and calls ``enlist`` on it, and sets up logging. SIGTERM and SIGINT end
    all of them in order; what still runs after ``grace_s`` is given back. When one process dies, the
    others are ended too: whoever runs this (systemd, Kubernetes) starts it again.
    """
    arguments = [
        boot,
        *("--processes", str(processes)),
        *("--worker-shutdown-timeout", str(int(grace_s * 1000))),
        *("--worker-fork-timeout", str(BOOT_MS)),
        "--skip-logging",
    ]
    parser = cli.make_argument_parser()
    return int(cli.main(parser.parse_args(arguments)))
