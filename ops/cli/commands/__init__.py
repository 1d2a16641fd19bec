"""Table of all commands in the order of the help text. Each command has a module with ``options`` and ``run``."""

from sluice.ops.cli.command import Command, CommandGroup

COMMANDS = (
    Command(
        word="init",
        help="create a small project from a template",
        module="sluice.ops.cli.commands.project.init",
    ),
    Command(
        word="up",
        help="run everything in one process",
        module="sluice.ops.cli.commands.processes.up",
        makes_ledger=True,
    ),
    Command(
        word="worker",
        help="run the jobs of some or all apps",
        module="sluice.ops.cli.commands.processes.worker",
    ),
    Command(
        word="run",
        help="submit jobs and run them here to their end",
        module="sluice.ops.cli.commands.submissions.run",
        makes_ledger=True,
    ),
    Command(
        word="submit",
        help="submit jobs",
        module="sluice.ops.cli.commands.submissions.submit",
        makes_ledger=True,
    ),
    Command(
        word="plan",
        help="show which jobs a submission would run",
        module="sluice.ops.cli.commands.submissions.plan",
    ),
    Command(
        word="parents",
        help="list the parents of a job by dependency group",
        module="sluice.ops.cli.commands.jobs.parents",
    ),
    Command(
        word="children", help="list the children of a job", module="sluice.ops.cli.commands.jobs.children"
    ),
    Command(
        word="graph",
        help="draw the apps, or one job's live graph",
        module="sluice.ops.cli.commands.jobs.graph",
    ),
    Command(word="ls", help="list jobs, the last changed first", module="sluice.ops.cli.commands.jobs.ls"),
    Command(word="show", help="show all data of one job", module="sluice.ops.cli.commands.jobs.show"),
    Command(word="logs", help="show the output of a job", module="sluice.ops.cli.commands.jobs.logs"),
    Command(word="why", help="explain why a job is in its state", module="sluice.ops.cli.commands.jobs.why"),
    Command(
        word="submissions",
        help="list submissions, the newest first, or show one",
        module="sluice.ops.cli.commands.submissions.submissions",
    ),
    Command(
        word="grid",
        help="show a submission's apps by partition, or by day",
        module="sluice.ops.cli.commands.partitions.grid",
    ),
    Command(
        word="cancel",
        help="stop a submission, one job, or selected jobs",
        module="sluice.ops.cli.commands.submissions.cancel",
    ),
    Command(
        word="pause",
        help="start no more jobs of a submission",
        module="sluice.ops.cli.commands.submissions.pause",
    ),
    Command(
        word="resume",
        help="continue a paused submission or a waiting saga",
        module="sluice.ops.cli.commands.submissions.resume",
    ),
    Command(
        word="retry",
        help="run a finished job again, or the unsuccessful jobs of a submission or selection",
        module="sluice.ops.cli.commands.submissions.retry",
    ),
    Command(
        word="archive",
        help="mark the outcomes of an app's jobs, or of selected jobs, as collected",
        module="sluice.ops.cli.commands.jobs.archive",
    ),
    Command(
        word="freshness",
        help="show when an app last succeeded, by work ID or key",
        module="sluice.ops.cli.commands.partitions.freshness",
    ),
    Command(
        word="workers",
        help="list the workers, and the pools with waiting jobs",
        module="sluice.ops.cli.commands.processes.workers",
    ),
    Command(
        word="demand",
        help="count the jobs that could run at once, by app",
        module="sluice.ops.cli.commands.processes.demand",
    ),
    Command(
        word="autoscale",
        help="run as many workers on this machine as the work needs",
        module="sluice.ops.cli.commands.processes.autoscale",
    ),
    Command(
        word="console",
        help="serve the web console and its HTTP API",
        module="sluice.ops.cli.commands.processes.console",
        makes_ledger=True,
    ),
    Command(
        word="token",
        help="make a named token for the console",
        module="sluice.ops.cli.commands.processes.token",
    ),
    Command(
        word="audit",
        help="list the actions by console and commands, with the actor",
        module="sluice.ops.cli.commands.processes.audit",
    ),
    Command(
        word="metrics",
        help="print all metrics in the format of Prometheus",
        module="sluice.ops.cli.commands.processes.metrics",
    ),
    Command(
        word="doctor",
        help="find problems and show how to fix them",
        module="sluice.ops.cli.commands.processes.doctor",
    ),
    Command(
        word="completion",
        help="print the completion script for bash, zsh or fish",
        module="sluice.ops.cli.commands.project.completion",
    ),
    Command(
        word="bench",
        help="measure the performance on this machine",
        module="sluice.ops.cli.commands.project.bench",
        makes_ledger=True,
    ),
    CommandGroup(
        word="apps",
        help="check, show and store definitions, pause and resume apps: check, show, sync, branches, pause, resume",
        commands=(
            Command(
                word="check",
                help="load the definitions and list every fault, and remarks",
                module="sluice.ops.cli.commands.apps.check",
            ),
            Command(
                word="show", help="list the apps, or show one", module="sluice.ops.cli.commands.apps.show"
            ),
            Command(
                word="sync",
                help="store the definitions as a branch",
                module="sluice.ops.cli.commands.apps.sync",
                makes_ledger=True,
            ),
            Command(
                word="branches",
                help="list the branches, or the apps of one branch",
                module="sluice.ops.cli.commands.apps.branches",
            ),
            Command(
                word="pause", help="start no more jobs of an app", module="sluice.ops.cli.commands.apps.pause"
            ),
            Command(
                word="resume",
                help="start jobs of a paused app again",
                module="sluice.ops.cli.commands.apps.resume",
            ),
        ),
    ),
    CommandGroup(
        word="config",
        help="show the settings: show",
        commands=(
            Command(
                word="show",
                help="show the value and the source of each setting, without secrets",
                module="sluice.ops.cli.commands.project.config_show",
            ),
        ),
    ),
    CommandGroup(
        word="saga",
        help="show the steps of a saga, and resolve a failed undo: show, retry-undo, force-done",
        commands=(
            Command(
                word="show",
                help="show the steps of a saga, done and undone, and the event that it waits for",
                module="sluice.ops.cli.commands.sagas.show",
            ),
            Command(
                word="retry-undo",
                help="retry the undo that failed",
                module="sluice.ops.cli.commands.sagas.retry_undo",
            ),
            Command(
                word="force-done",
                help="continue after a failed undo that was done by hand",
                module="sluice.ops.cli.commands.sagas.force_done",
            ),
        ),
    ),
    CommandGroup(
        word="notifications",
        help="list deliveries that were given up, and send them again: ls, retry",
        commands=(
            Command(
                word="ls",
                help="list the deliveries of events that were given up",
                module="sluice.ops.cli.commands.notifications.ls",
            ),
            Command(
                word="retry",
                help="send events again after their delivery was given up",
                module="sluice.ops.cli.commands.notifications.retry",
            ),
        ),
    ),
    CommandGroup(
        word="partitions",
        help="list partitions, report external ones, and make stale ones again: ls, land, restate",
        commands=(
            Command(
                word="ls",
                help="count partitions by table, or list the partitions of one table",
                module="sluice.ops.cli.commands.partitions.ls",
            ),
            Command(
                word="land",
                help="report that external partitions have landed",
                module="sluice.ops.cli.commands.partitions.land",
                makes_ledger=True,
            ),
            Command(
                word="restate",
                help="make stale partitions again: those made from partitions that landed again",
                module="sluice.ops.cli.commands.partitions.restate",
            ),
        ),
    ),
    CommandGroup(
        word="schedules",
        help="manage schedules: ls, next, pause, resume, fire",
        commands=(
            Command(
                word="ls",
                help="list schedules, or the due times of one with their outcomes",
                module="sluice.ops.cli.commands.schedules.ls",
            ),
            Command(
                word="next", help="list the next due times", module="sluice.ops.cli.commands.schedules.next"
            ),
            Command(
                word="pause",
                help="pause schedules; their due times pass",
                module="sluice.ops.cli.commands.schedules.pause",
            ),
            Command(
                word="resume",
                help="continue paused schedules",
                module="sluice.ops.cli.commands.schedules.resume",
            ),
            Command(
                word="fire", help="fire one schedule now", module="sluice.ops.cli.commands.schedules.fire"
            ),
        ),
    ),
    CommandGroup(
        word="deploy",
        help="write deployment files: kubernetes",
        commands=(
            Command(
                word="kubernetes",
                help="write manifests with workers and scalers for the apps",
                module="sluice.ops.cli.commands.processes.deploy_kubernetes",
            ),
        ),
    ),
    CommandGroup(
        word="broker",
        help="manage the broker: take, roles",
        commands=(
            Command(
                word="take",
                help="make the broker belong to this installation",
                module="sluice.ops.cli.commands.db.broker_take",
            ),
            Command(
                word="roles",
                help="print commands that give broker users only the rights they need",
                module="sluice.ops.cli.commands.db.broker_roles",
            ),
        ),
    ),
    CommandGroup(
        word="db",
        help="manage the ledger: status, upgrade, roles, check, repair, prune, restored, announce",
        commands=(
            Command(
                word="status",
                help="show the schema version, pending migrations, and sessions that block them",
                module="sluice.ops.cli.commands.db.status",
            ),
            Command(
                word="upgrade",
                help="run the pending migrations",
                module="sluice.ops.cli.commands.db.upgrade",
                makes_ledger=True,
            ),
            Command(
                word="roles",
                help="print SQL for roles that have only the rights they need",
                module="sluice.ops.cli.commands.db.roles",
            ),
            Command(
                word="check",
                help="check that the ledger is consistent",
                module="sluice.ops.cli.commands.db.check",
            ),
            Command(
                word="repair",
                help="repair inconsistent values that can be computed from other rows",
                module="sluice.ops.cli.commands.db.repair",
            ),
            Command(
                word="prune",
                help="remove old history",
                module="sluice.ops.cli.commands.db.prune",
            ),
            Command(
                word="restored",
                help="advance all counters after a backup was restored, so that no number is used twice",
                module="sluice.ops.cli.commands.db.restored",
            ),
            Command(
                word="announce",
                help="publish all ready jobs again",
                module="sluice.ops.cli.commands.db.announce",
            ),
        ),
    ),
)

#: Headings of the help of ``sluice``, with the commands below each.
SECTIONS = {
    "start": ("init", "up", "run"),
    "submit": ("submit", "plan"),
    "inspect": ("ls", "show", "logs", "why", "parents", "children", "graph", "submissions"),
    "control": ("cancel", "pause", "resume", "retry", "archive", "saga"),
    "definitions": ("apps", "schedules"),
    "partitions": ("partitions", "grid", "freshness"),
    "operate": (
        *("worker", "workers", "console", "doctor", "config", "db", "broker", "deploy"),
        *("autoscale", "demand", "metrics", "notifications", "token", "audit"),
    ),
    "tools": ("completion", "bench"),
}
