"""Examples of each command for its ``--help``. A test runs the examples that end by themselves.

They are about a nightly report (``jobs.examples.shops``) and a trip that is booked completely or not at all
(``jobs.examples.trips``). Others are about two apps by work ID (``jobs.examples.stau``), a table that is filled day by
day, uploads that are collected by hand, and orders that wait for approval.
"""

EXAMPLES = {
    "": """
sluice init shop                                 # make a small project to start from
sluice --apps pipeline.py run report 2026-11-20  # run a job here, with the parents it is missing
sluice why report 2026-11-20                     # why it is in its state, and what would help
""",
    "init": """
sluice init                                      # in this folder
sluice init shop                                 # in a new one
""",
    "up": """
sluice up                                        # plan, run and schedule here until Ctrl-C
sluice up --drain                                # leave when nothing is left to do
sluice --apps pipeline.py up --threads 8         # as many jobs at once
""",
    "worker": """
sluice worker                                    # every queue, Sluice's own too
sluice worker --queues fetch,report --threads 8
sluice worker --queues '*'                       # all apps, new ones too
""",
    "run": """
sluice run report 2026-11-20                     # with the parents it is missing
sluice run hello --work-ids 1-3,7                # an app by chunk, on these work IDs
sluice run --bypass publish 2026-11-20           # its code alone, without ledger and parents
""",
    "submit": """
sluice submit report 2026-11-24 --id nightly-24  # the same id again is the same submission
sluice submit report 2026-11-20 --rerun downstream --push all
sluice submit trip ann_LX318 --max-fails 2 --priority 5
""",
    "plan": """
sluice plan report 2026-11-22                    # what would run, and what is there already
sluice plan goodbye --work-ids 1-20 --json       # for a program
sluice plan daily --start 2026-11-01 --end 2026-11-07 --now 2026-11-08
""",
    "parents": """
sluice parents report 2026-11-20
sluice parents publish 2026-11-20 --json
""",
    "children": """
sluice children fetch 2026-11-20_oslo
sluice children report 2026-11-20 --json
""",
    "graph": """
sluice graph                                     # the apps, as Mermaid text
sluice graph report -o report.svg                # one, with everything above and below it
sluice graph report 2026-11-20 --format dot      # a job's live graph, coloured by state
""",
    "ls": """
sluice ls --state failed --since 1d              # what failed since yesterday
sluice ls --app fetch --limit 10
sluice ls --where "state = succeeded and inputs.shop = 'oslo'" --json
""",
    "show": """
sluice show report 2026-11-20                    # rounds, history, parents and children
sluice show fetch 2026-11-20_oslo --json
""",
    "logs": """
sluice logs fetch 2026-11-20_oslo                # of every round
sluice logs fetch 2026-11-20_oslo --round 0
sluice logs report 2026-11-20 --follow           # to its end
""",
    "why": """
sluice why report 2026-11-20
sluice why report 2026-11-20 --json
""",
    "submissions": """
sluice submissions --limit 5
sluice submissions nightly-20                    # one, with what came of its jobs
""",
    "grid": """
sluice grid week                                 # its apps by partition, like a calendar
sluice grid week --columns 31
""",
    "cancel": """
sluice cancel nightly-22                         # what no other submission wants is stopped
sluice cancel report 2026-11-23                  # one job, whoever wants it
""",
    "pause": """
sluice pause nightly-21                          # what runs goes on to its end
sluice pause nightly-21 --json
""",
    "resume": """
sluice resume nightly-21                         # a paused submission
sluice resume order 3 --event approved           # a saga that waits for this
sluice resume order/4 --event approved --payload '{"ok": true}' --id evt_1
""",
    "retry": """
sluice retry fetch 2026-11-20_graz               # again, though it has ended
sluice retry report 2026-11-20 --downstream --wait
sluice retry uploads                             # the unsuccessful jobs of a submission
""",
    "archive": """
sluice archive upload 2026-11-19                 # what came of it has been collected
sluice archive upload --outcome failed           # of all that have ended so
""",
    "freshness": """
sluice freshness hello                           # when it last succeeded, by work ID
sluice freshness hello --work-ids 1-3,7
sluice freshness report --older-than 6h
""",
    "workers": """
sluice workers                                   # who is there, and what they hold
sluice workers --json
""",
    "demand": """
sluice demand                                    # how many jobs there are to run at once, by app
sluice demand fetch --horizon 2m --json
""",
    "autoscale": """
sluice autoscale --queue fetch=1..4              # from one to four workers for it, on this machine
sluice autoscale --queue fetch,clean=0..8 --queue report=1..1 --threads 2 --cool-down 5m
""",
    "metrics": """
sluice metrics                                   # as Prometheus reads them
sluice metrics --json
""",
    "console": """
sluice console                                   # at http://127.0.0.1:8484
sluice console --listen 0.0.0.0:8484             # for others too, who need SLUICE_CONSOLE_TOKEN
""",
    "audit": """
sluice audit                                     # what was done by the console, by whom
sluice audit --since 1d --json
""",
    "doctor": """
sluice doctor
sluice doctor --json                             # exit code 1: something is bad, 3: out of reach
sluice doctor --listen 0.0.0.0:8484              # as if the console listened there
""",
    "completion": """
sluice completion bash                           # in .bashrc: eval "$(sluice completion bash)"
sluice completion zsh                            # in .zshrc, behind compinit, likewise
sluice completion fish                           # into ~/.config/fish/completions/sluice.fish
""",
    "bench": """
sluice bench                                     # every workload, on a database of its own
sluice bench --runs 5 --json
""",
    "apps check": """
sluice --apps pipeline.py apps check             # every fault at once, exit code 2
sluice apps check --json
""",
    "apps show": """
sluice apps show
sluice apps show fetch                           # one, with all there is to say of it
""",
    "apps sync": """
sluice apps sync --branch main --dry-run         # what would change
sluice apps sync --branch main --user ann
""",
    "apps branches": """
sluice apps branches
sluice apps branches main                        # one, app by app
""",
    "apps pause": """
sluice apps pause publish                        # begin none of its jobs, whoever wants them
sluice apps pause fetch clean --json
""",
    "apps resume": """
sluice apps resume publish
sluice apps resume fetch clean --json
""",
    "deploy kubernetes": """
sluice deploy kubernetes                         # manifests for the apps there are, into ./kubernetes
sluice deploy kubernetes --output k8s --group light=fetch,clean --image shop:2026-11-20
""",
    "saga show": """
sluice saga show trip ann_LX318                  # its steps, done and undone
sluice saga show trip ann_LX318 --traceback
""",
    "saga retry-undo": """
sluice saga retry-undo order 5                   # once what kept it from being undone is mended
sluice saga retry-undo order 6 --wait
""",
    "saga force-done": """
sluice saga force-done order 7                   # it was undone by hand
sluice saga force-done order 8 --note "put back on its shelf"
""",
    "partitions ls": """
sluice partitions ls                             # count them by table
sluice partitions ls events --from 2026-11-01 --to 2026-11-07
""",
    "partitions land": """
sluice partitions land events 2026-11-01..2026-11-07
sluice partitions land events 2026-11-08 2026-11-09
""",
    "schedules ls": """
sluice schedules ls
sluice schedules ls nightly --limit 5            # what became of its due times
""",
    "schedules next": """
sluice schedules next                            # the due times to come
sluice schedules next nightly --count 3 --after 2026-12-24
""",
    "schedules pause": """
sluice schedules pause nightly                   # due times pass, and nothing is submitted
sluice schedules pause nightly hourly
""",
    "schedules resume": """
sluice schedules resume nightly
sluice schedules resume nightly hourly
""",
    "schedules fire": """
sluice schedules fire nightly                    # now, by hand
sluice schedules fire nightly --due 2026-11-20T02:30:00+00:00
""",
    "broker take": """
sluice broker take                               # this ledger replaces the one whose broker it was
sluice --broker redis://localhost broker take
""",
    "broker roles": """
sluice broker roles rabbitmq                     # for a shell on its machine, once the users are there
sluice broker roles redis --prefix jobs
""",
    "db status": """
sluice db status                                 # before an upgrade
sluice db status --json
""",
    "db upgrade": """
sluice db upgrade                                # before the first process of a new version
sluice --ledger postgresql://sluice@db/sluice db upgrade
""",
    "db roles": """
sluice db roles                                  # for psql, as a superuser, after every upgrade
sluice db roles --prefix jobs                    # jobs_owner, jobs_control, …
""",
    "db check": """
sluice db check                                  # exit code 1: it does not agree with itself
sluice db check --json
""",
    "db repair": """
sluice db repair                                 # what `sluice db check` says that it can mend
sluice db repair --json
""",
    "db prune": """
sluice db prune --dry-run                        # what would go
sluice db prune --older-than 30d
""",
    "db restored": """
sluice db restored                               # after a backup was restored, before anybody works
sluice db restored --json
""",
    "db announce": """
sluice db announce                               # after a broker was lost or wiped
sluice db announce --json
""",
}


def examples(way: str) -> list[str]:
    """Return the lines of a command's examples. Empty if it has none."""
    return EXAMPLES.get(way.removeprefix("sluice").strip(), "").strip().splitlines()
