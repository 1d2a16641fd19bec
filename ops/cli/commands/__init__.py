"""Every command, in the order of the help text. A module for each has its ``options`` and its ``run``."""

from ops.cli.command import Command, Group

COMMANDS = (
    Command(word="init", help="make a small project to start from", module="ops.cli.commands.init"),
    Command(word="up", help="everything in one process", module="ops.cli.commands.up"),
    Command(word="run", help="submit, and work on it here to its end", module="ops.cli.commands.run"),
    Command(word="submit", help="ask for jobs", module="ops.cli.commands.submit"),
    Command(word="plan", help="what a submission would come to", module="ops.cli.commands.plan"),
    Command(word="parents", help="the parents of a job, by alternative", module="ops.cli.commands.parents"),
    Command(word="children", help="the children of a job", module="ops.cli.commands.children"),
    Command(word="graph", help="draw the apps, or one job's live graph", module="ops.cli.commands.graph"),
    Command(word="ls", help="list jobs, the last changed first", module="ops.cli.commands.ls"),
    Command(word="show", help="everything about one job", module="ops.cli.commands.show"),
    Command(word="logs", help="what a job printed", module="ops.cli.commands.logs"),
    Command(word="why", help="why a job is in its state", module="ops.cli.commands.why"),
    Command(
        word="submissions",
        help="list submissions, the newest first, or look at one",
        module="ops.cli.commands.submissions",
    ),
    Command(word="grid", help="a submission's apps by partition", module="ops.cli.commands.grid"),
    Command(word="cancel", help="stop a submission, or one job", module="ops.cli.commands.cancel"),
    Command(word="pause", help="begin nothing more of a submission", module="ops.cli.commands.pause"),
    Command(
        word="resume",
        help="let what is paused, or a saga that waits, go on",
        module="ops.cli.commands.resume",
    ),
    Command(word="retry", help="run a job again that has ended", module="ops.cli.commands.retry"),
    Command(
        word="archive",
        help="mark as collected what an app's jobs came to",
        module="ops.cli.commands.archive",
    ),
    Command(
        word="freshness",
        help="when an app last succeeded, by work ID or key",
        module="ops.cli.commands.freshness",
    ),
    Command(word="workers", help="who is there, and what they hold", module="ops.cli.commands.workers"),
    Command(
        word="demand",
        help="how many jobs there are to run at once, by app",
        module="ops.cli.commands.demand",
    ),
    Command(
        word="autoscale",
        help="keep as many workers here as there is work for",
        module="ops.cli.commands.autoscale",
    ),
    Command(word="console", help="the page in a browser, and its calls", module="ops.cli.commands.console"),
    Command(word="audit", help="what was done by the console, by whom", module="ops.cli.commands.audit"),
    Command(word="metrics", help="all numbers, as Prometheus reads them", module="ops.cli.commands.metrics"),
    Command(word="doctor", help="what is amiss, and what to do about it", module="ops.cli.commands.doctor"),
    Command(
        word="completion",
        help="have bash, zsh or fish complete what is typed",
        module="ops.cli.commands.completion",
    ),
    Command(word="bench", help="what things cost on this machine", module="ops.cli.commands.bench"),
    Group(
        word="apps",
        help="look at the definitions, and keep them: check, show, sync, branches; pause and resume apps",
        commands=(
            Command(
                word="check",
                help="load them and list every fault",
                module="ops.cli.commands.apps_check",
            ),
            Command(word="show", help="list the apps, or show one", module="ops.cli.commands.apps_show"),
            Command(
                word="sync", help="keep definitions as those of a branch", module="ops.cli.commands.apps_sync"
            ),
            Command(
                word="branches",
                help="list the branches, or one's apps",
                module="ops.cli.commands.apps_branches",
            ),
            Command(word="pause", help="begin no job of an app", module="ops.cli.commands.apps_pause"),
            Command(word="resume", help="let its jobs begin", module="ops.cli.commands.apps_resume"),
        ),
    ),
    Group(
        word="saga",
        help="look at a saga's steps, and help where one cannot be undone: show, retry-undo, force-done",
        commands=(
            Command(
                word="show",
                help="its steps, done and undone, and what it waits for",
                module="ops.cli.commands.saga_show",
            ),
            Command(
                word="retry-undo",
                help="try the undo that failed again",
                module="ops.cli.commands.saga_retry_undo",
            ),
            Command(
                word="force-done",
                help="go on behind it: it was done by hand",
                module="ops.cli.commands.saga_force_done",
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
                module="ops.cli.commands.partitions_ls",
            ),
            Command(
                word="land",
                help="say that some are there, which others have brought",
                module="ops.cli.commands.partitions_land",
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
                module="ops.cli.commands.schedules_ls",
            ),
            Command(word="next", help="the due times to come", module="ops.cli.commands.schedules_next"),
            Command(word="pause", help="let due times pass", module="ops.cli.commands.schedules_pause"),
            Command(word="resume", help="go on after a pause", module="ops.cli.commands.schedules_resume"),
            Command(word="fire", help="fire one by hand, now", module="ops.cli.commands.schedules_fire"),
        ),
    ),
    Group(
        word="deploy",
        help="write files that run all of it elsewhere: kubernetes",
        commands=(
            Command(
                word="kubernetes",
                help="manifests, with workers and scalers for the apps",
                module="ops.cli.commands.deploy_kubernetes",
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
                module="ops.cli.commands.broker_take",
            ),
            Command(
                word="roles",
                help="lines that give users no more rights than they need",
                module="ops.cli.commands.broker_roles",
            ),
        ),
    ),
    Group(
        word="db",
        help="look after the ledger: upgrade, roles, check, prune, restored, announce",
        commands=(
            Command(
                word="upgrade",
                help="run what migrations are missing",
                module="ops.cli.commands.db_upgrade",
            ),
            Command(
                word="roles",
                help="SQL for roles with no more rights than they need",
                module="ops.cli.commands.db_roles",
            ),
            Command(
                word="check",
                help="whether the ledger agrees with itself",
                module="ops.cli.commands.db_check",
            ),
            Command(
                word="repair",
                help="work out anew what follows from other rows and does not say so",
                module="ops.cli.commands.db_repair",
            ),
            Command(
                word="prune",
                help="remove what happened long ago",
                module="ops.cli.commands.db_prune",
            ),
            Command(
                word="restored",
                help="after a backup was restored: go on above all numbers that were given out",
                module="ops.cli.commands.db_restored",
            ),
            Command(
                word="announce",
                help="send out again everything that is ready",
                module="ops.cli.commands.db_announce",
            ),
        ),
    ),
)
