"""Table of all commands in the order of the help text. Each command has a module with ``options`` and ``run``."""

from sluice.ops.cli.command import Command, Group

COMMANDS = (
    Command(word="init", help="make a small project to start from", module="sluice.ops.cli.commands.init"),
    Command(
        word="up", help="everything in one process", module="sluice.ops.cli.commands.up", makes_ledger=True
    ),
    Command(word="worker", help="run the jobs of some apps or all", module="sluice.ops.cli.commands.worker"),
    Command(
        word="run",
        help="submit, and work on it here to its end",
        module="sluice.ops.cli.commands.run",
        makes_ledger=True,
    ),
    Command(word="submit", help="ask for jobs", module="sluice.ops.cli.commands.submit", makes_ledger=True),
    Command(word="plan", help="what a submission would come to", module="sluice.ops.cli.commands.plan"),
    Command(
        word="parents", help="the parents of a job, by alternative", module="sluice.ops.cli.commands.parents"
    ),
    Command(word="children", help="the children of a job", module="sluice.ops.cli.commands.children"),
    Command(
        word="graph", help="draw the apps, or one job's live graph", module="sluice.ops.cli.commands.graph"
    ),
    Command(word="ls", help="list jobs, the last changed first", module="sluice.ops.cli.commands.ls"),
    Command(word="show", help="everything about one job", module="sluice.ops.cli.commands.show"),
    Command(word="logs", help="what a job printed", module="sluice.ops.cli.commands.logs"),
    Command(word="why", help="why a job is in its state", module="sluice.ops.cli.commands.why"),
    Command(
        word="submissions",
        help="list submissions, the newest first, or look at one",
        module="sluice.ops.cli.commands.submissions",
    ),
    Command(word="grid", help="a submission's apps by partition", module="sluice.ops.cli.commands.grid"),
    Command(word="cancel", help="stop a submission, or one job", module="sluice.ops.cli.commands.cancel"),
    Command(word="pause", help="begin nothing more of a submission", module="sluice.ops.cli.commands.pause"),
    Command(
        word="resume",
        help="let what is paused, or a saga that waits, go on",
        module="sluice.ops.cli.commands.resume",
    ),
    Command(word="retry", help="run a job again that has ended", module="sluice.ops.cli.commands.retry"),
    Command(
        word="archive",
        help="mark as collected what an app's jobs came to",
        module="sluice.ops.cli.commands.archive",
    ),
    Command(
        word="freshness",
        help="when an app last succeeded, by work ID or key",
        module="sluice.ops.cli.commands.freshness",
    ),
    Command(
        word="workers", help="who is there, and what they hold", module="sluice.ops.cli.commands.workers"
    ),
    Command(
        word="demand",
        help="how many jobs there are to run at once, by app",
        module="sluice.ops.cli.commands.demand",
    ),
    Command(
        word="autoscale",
        help="keep as many workers here as there is work for",
        module="sluice.ops.cli.commands.autoscale",
    ),
    Command(
        word="console",
        help="the page in a browser, and its calls",
        module="sluice.ops.cli.commands.console",
        makes_ledger=True,
    ),
    Command(
        word="audit", help="what was done by the console, by whom", module="sluice.ops.cli.commands.audit"
    ),
    Command(
        word="metrics", help="all numbers, as Prometheus reads them", module="sluice.ops.cli.commands.metrics"
    ),
    Command(
        word="doctor", help="what is amiss, and what to do about it", module="sluice.ops.cli.commands.doctor"
    ),
    Command(
        word="completion",
        help="have bash, zsh or fish complete what is typed",
        module="sluice.ops.cli.commands.completion",
    ),
    Command(
        word="bench",
        help="what things cost on this machine",
        module="sluice.ops.cli.commands.bench",
        makes_ledger=True,
    ),
    Group(
        word="apps",
        help="look at the definitions, and keep them: check, show, sync, branches; pause and resume apps",
        commands=(
            Command(
                word="check",
                help="load them and list every fault",
                module="sluice.ops.cli.commands.apps_check",
            ),
            Command(
                word="show", help="list the apps, or show one", module="sluice.ops.cli.commands.apps_show"
            ),
            Command(
                word="sync",
                help="keep definitions as those of a branch",
                module="sluice.ops.cli.commands.apps_sync",
                makes_ledger=True,
            ),
            Command(
                word="branches",
                help="list the branches, or one's apps",
                module="sluice.ops.cli.commands.apps_branches",
            ),
            Command(word="pause", help="begin no job of an app", module="sluice.ops.cli.commands.apps_pause"),
            Command(word="resume", help="let its jobs begin", module="sluice.ops.cli.commands.apps_resume"),
        ),
    ),
    Group(
        word="saga",
        help="look at a saga's steps, and help where one cannot be undone: show, retry-undo, force-done",
        commands=(
            Command(
                word="show",
                help="its steps, done and undone, and what it waits for",
                module="sluice.ops.cli.commands.saga_show",
            ),
            Command(
                word="retry-undo",
                help="try the undo that failed again",
                module="sluice.ops.cli.commands.saga_retry_undo",
            ),
            Command(
                word="force-done",
                help="go on behind it: it was done by hand",
                module="sluice.ops.cli.commands.saga_force_done",
            ),
        ),
    ),
    Group(
        word="partitions",
        help="what is there of the tables: ls, land",
        commands=(
            Command(
                word="ls",
                help="count them by table, or list one table's",
                module="sluice.ops.cli.commands.partitions_ls",
            ),
            Command(
                word="land",
                help="say that some are there, which others have brought",
                module="sluice.ops.cli.commands.partitions_land",
                makes_ledger=True,
            ),
        ),
    ),
    Group(
        word="schedules",
        help="what is submitted by itself: ls, next, pause, resume, fire",
        commands=(
            Command(
                word="ls",
                help="list them, or what became of one's due times",
                module="sluice.ops.cli.commands.schedules_ls",
            ),
            Command(
                word="next", help="the due times to come", module="sluice.ops.cli.commands.schedules_next"
            ),
            Command(
                word="pause", help="let due times pass", module="sluice.ops.cli.commands.schedules_pause"
            ),
            Command(
                word="resume", help="go on after a pause", module="sluice.ops.cli.commands.schedules_resume"
            ),
            Command(
                word="fire", help="fire one by hand, now", module="sluice.ops.cli.commands.schedules_fire"
            ),
        ),
    ),
    Group(
        word="deploy",
        help="write files that run all of it elsewhere: kubernetes",
        commands=(
            Command(
                word="kubernetes",
                help="manifests, with workers and scalers for the apps",
                module="sluice.ops.cli.commands.deploy_kubernetes",
            ),
        ),
    ),
    Group(
        word="broker",
        help="look after the broker: roles, take",
        commands=(
            Command(
                word="take",
                help="make it belong to this installation",
                module="sluice.ops.cli.commands.broker_take",
            ),
            Command(
                word="roles",
                help="lines that give users no more rights than they need",
                module="sluice.ops.cli.commands.broker_roles",
            ),
        ),
    ),
    Group(
        word="db",
        help="look after the ledger: upgrade, status, roles, check, prune, restored, announce",
        commands=(
            Command(
                word="status",
                help="its schema, migrations that are missing, and who blocks them",
                module="sluice.ops.cli.commands.db_status",
            ),
            Command(
                word="upgrade",
                help="run what migrations are missing",
                module="sluice.ops.cli.commands.db_upgrade",
                makes_ledger=True,
            ),
            Command(
                word="roles",
                help="SQL for roles with no more rights than they need",
                module="sluice.ops.cli.commands.db_roles",
            ),
            Command(
                word="check",
                help="whether the ledger agrees with itself",
                module="sluice.ops.cli.commands.db_check",
            ),
            Command(
                word="repair",
                help="work out anew what follows from other rows and does not say so",
                module="sluice.ops.cli.commands.db_repair",
            ),
            Command(
                word="prune",
                help="remove what happened long ago",
                module="sluice.ops.cli.commands.db_prune",
            ),
            Command(
                word="restored",
                help="after a backup was restored: go on above all numbers that were given out",
                module="sluice.ops.cli.commands.db_restored",
            ),
            Command(
                word="announce",
                help="send out again everything that is ready",
                module="sluice.ops.cli.commands.db_announce",
            ),
        ),
    ),
)
