"""Examples of each command for its ``--help``. A test runs the examples that end by themselves.

They are about a nightly report (``jobs.examples.shops``) and a trip that is booked completely or not at all
(``jobs.examples.trips``). Others are about two apps by work ID (``jobs.examples.stau``), a table that is filled day by
day, uploads that are collected by hand, and orders that wait for approval.
"""

EXAMPLES = {
    "": """
sluice init shop                                 # create a small project to start from
sluice --apps pipeline.py run report 2026-11-20  # run a job here, with its missing parents
sluice why report 2026-11-20                     # explain its state and show commands that help
""",
    "init": """
sluice init                                      # create it in this folder
sluice init shop                                 # create it in a new folder
sluice init orders --template saga               # choose a template: steps with undo
""",
    "up": """
sluice up                                        # plan, run and schedule here until Ctrl-C
sluice up --drain                                # exit when nothing is left to do
sluice --apps pipeline.py up --threads 8         # run up to 8 jobs at once
""",
    "worker": """
sluice worker                                    # serve every queue, also Sluice's own
sluice worker --queues fetch,report --threads 8
sluice worker --queues '*'                       # serve all apps, also new ones
""",
    "run": """
sluice run report 2026-11-20                     # run it with its missing parents
sluice run hello --work-ids 1-3,7                # run an app keyed by chunk on these work IDs
sluice run --bypass publish 2026-11-20           # run only its code, without ledger and parents
""",
    "submit": """
sluice submit report 2026-11-24 --id nightly-24  # the same id again is the same submission
sluice submit report --start 2026-11-01 --end 2026-11-20  # one job for each day
sluice submit trip ann_LX318 --max-fails 2 --priority 5
""",
    "plan": """
sluice plan report 2026-11-22                    # show the jobs to run and the existing results
sluice plan goodbye --work-ids 1-20 --json       # print JSON for a program
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
sluice graph                                     # print the apps as Mermaid text
sluice graph report -o report.svg                # draw one app with its upstream and downstream
sluice graph report 2026-11-20 --format dot      # draw a job's live graph, coloured by state
""",
    "ls": """
sluice ls --state failed --since 1d              # list jobs that failed since yesterday
sluice ls --app fetch --limit 10
sluice ls --where "state = succeeded and inputs.shop = 'oslo'" --json
""",
    "show": """
sluice show report 2026-11-20                    # show rounds, history, parents and children
sluice show fetch 2026-11-20_oslo --json
""",
    "logs": """
sluice logs fetch 2026-11-20_oslo                # show the output of every round
sluice logs fetch 2026-11-20_oslo --round 0
sluice logs report 2026-11-20 --follow           # follow the output to the end of the job
""",
    "why": """
sluice why report 2026-11-20
sluice why report 2026-11-20 --json
""",
    "submissions": """
sluice submissions --limit 5
sluice submissions nightly-20                    # show one, with the outcomes of its jobs
""",
    "grid": """
sluice grid week                                 # show its apps by partition, like a calendar
sluice grid week --columns 31
""",
    "cancel": """
sluice cancel nightly-22                         # stop its jobs that no other submission requests
sluice cancel report 2026-11-23                  # stop one job, for all submissions
sluice cancel --where 'app = report and state = waiting' --dry-run
""",
    "pause": """
sluice pause nightly-21                          # start no more of its jobs; running jobs continue
sluice pause nightly-21 --json
""",
    "resume": """
sluice resume nightly-21                         # continue a paused submission
sluice resume order 3 --event approved           # continue a saga that waits for this event
sluice resume order/4 --event approved --payload '{"ok": true}' --id evt_1
""",
    "retry": """
sluice retry fetch 2026-11-20_graz               # run a finished job again
sluice retry uploads                             # run its unsuccessful jobs again
sluice retry --where 'app = fetch and state = failed and ended >= 2h' --dry-run
""",
    "archive": """
sluice archive upload 2026-11-19                 # mark its outcome as collected
sluice archive upload --outcome failed           # mark all jobs with this outcome
sluice archive --where 'app = upload and ended < 30d'
""",
    "freshness": """
sluice freshness hello                           # show its last success by work ID
sluice freshness hello --work-ids 1-3,7
sluice freshness report --older-than 6h
""",
    "workers": """
sluice workers                                   # list the workers and the pools
sluice workers --json
""",
    "demand": """
sluice demand                                    # count the jobs that could run at once, by app
sluice demand fetch --horizon 2m --json
""",
    "autoscale": """
sluice autoscale --queue fetch=1..4              # run one to four workers for it on this machine
sluice autoscale --queue fetch,clean=0..8 --queue report=1..1 --threads 2 --cool-down 5m
""",
    "metrics": """
sluice metrics                                   # print them in the format of Prometheus
sluice metrics --json
""",
    "console": """
sluice console                                   # serve it at http://127.0.0.1:8484
sluice console --listen 0.0.0.0:8484             # serve other machines; needs SLUICE_CONSOLE_TOKEN
""",
    "token": """
sluice token ci-risk --role submit --tenant risk   # may submit jobs of the apps of risk
sluice token ana --role operate
""",
    "audit": """
sluice audit                                     # list the actions with their users
sluice audit --since 1d --json
""",
    "doctor": """
sluice doctor
sluice doctor --json                             # exit code 1: something is bad, 3: out of reach
sluice doctor --listen 0.0.0.0:8484              # as if the console listened there
""",
    "config show": """
sluice config show                               # list every setting with its source
sluice config show --json
""",
    "completion": """
sluice completion bash                           # in .bashrc: eval "$(sluice completion bash)"
sluice completion zsh                            # in .zshrc, after compinit: eval "$(sluice completion zsh)"
sluice completion fish                           # write it to ~/.config/fish/completions/sluice.fish
""",
    "bench": """
sluice bench                                     # run every workload, each on its own database
sluice bench --runs 5 --json
""",
    "apps check": """
sluice --apps pipeline.py apps check             # list every fault at once, with exit code 2
sluice apps check --json
""",
    "apps show": """
sluice apps show
sluice apps show fetch                           # show one with all its details
""",
    "apps sync": """
sluice apps sync --branch main --dry-run         # show the changes, and store nothing
sluice apps sync --branch main --user ann
""",
    "apps branches": """
sluice apps branches
sluice apps branches main                        # list the apps of one branch
""",
    "apps pause": """
sluice apps pause publish                        # start none of its jobs, for any submission
sluice apps pause fetch clean --json
""",
    "apps resume": """
sluice apps resume publish
sluice apps resume fetch clean --json
""",
    "deploy kubernetes": """
sluice deploy kubernetes                         # write manifests for all apps to ./kubernetes
sluice deploy kubernetes --output k8s --group light=fetch,clean --image shop:2026-11-20
sluice deploy kubernetes --service-monitor       # with a ServiceMonitor for the Prometheus Operator
""",
    "saga show": """
sluice saga show trip ann_LX318                  # show its steps, done and undone
sluice saga show trip ann_LX318 --traceback
""",
    "saga retry-undo": """
sluice saga retry-undo order 5                   # fix the cause of the failed undo first
sluice saga retry-undo order 6 --wait
""",
    "saga force-done": """
sluice saga force-done order 7                   # undo it by hand first
sluice saga force-done order 8 --note "put back on its shelf"
""",
    "partitions ls": """
sluice partitions ls                             # count them by table
sluice partitions ls events --from 2026-11-01 --to 2026-11-07
""",
    "partitions land": """
sluice partitions land events 2026-11-01..2026-11-07
sluice partitions land events 2026-11-08 2026-11-09
sluice partitions land events 2026-11-03 --again  # its contents have changed
""",
    "partitions restate": """
sluice partitions restate                        # make all stale partitions again
sluice partitions restate events 2026-11-01..2026-11-07 --wait
""",
    "notifications ls": """
sluice notifications ls
sluice notifications ls --limit 10
""",
    "notifications retry": """
sluice notifications retry --all
sluice notifications retry 0197b3a4-52cd-7c11-9b1e-3f6f3c1de7a0
""",
    "schedules ls": """
sluice schedules ls
sluice schedules ls nightly --limit 5            # list its due times with their outcomes
""",
    "schedules next": """
sluice schedules next                            # list the next due times
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
sluice schedules fire nightly                    # fire it now
sluice schedules fire nightly --due 2026-11-20T02:30:00+00:00
""",
    "broker take": """
sluice broker take                               # take it over from another ledger
sluice --broker redis://localhost broker take
""",
    "broker roles": """
sluice broker roles rabbitmq                     # run them on its machine, after the users exist
sluice broker roles redis --prefix jobs
""",
    "db status": """
sluice db status                                 # check before an upgrade
sluice db status --json
""",
    "db upgrade": """
sluice db upgrade                                # run it before the first process of a new version
sluice db upgrade --dry-run                      # list the pending migrations
sluice db upgrade --sql                          # print their SQL, for a review
""",
    "db roles": """
sluice db roles                                  # run it with psql as a superuser after every upgrade
sluice db roles --prefix jobs                    # name the roles jobs_owner, jobs_control, …
""",
    "db check": """
sluice db check                                  # exit code 1: the ledger is not consistent
sluice db check --json
""",
    "db repair": """
sluice db repair                                 # repair the faults that have a known repair
sluice db repair --json
""",
    "db prune": """
sluice db prune --dry-run                        # count the rows to remove
sluice db prune --older-than 30d
""",
    "db restored": """
sluice db restored                               # run it after a restore, before workers start
sluice db restored --json
""",
    "db announce": """
sluice db announce                               # run it after a broker was lost or wiped
sluice db announce --json
""",
}


def examples(way: str) -> list[str]:
    """Return the lines of a command's examples. Empty if it has none."""
    return EXAMPLES.get(way.removeprefix("sluice").strip(), "").strip().splitlines()
