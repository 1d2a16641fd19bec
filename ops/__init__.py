"""User interfaces of Sluice: the command line, the console, metrics, deployment files and benchmarks.

This package owns the presentation for people. It reads the data that it shows from the ledger. Its actions use the same
submissions and messages that every other program uses. No other package of Sluice imports it.

    cli/         the ``sluice`` command: a table of commands, a module for each, and shared code
    console/     the page in a browser, and its HTTP calls
    operations/  queries and actions that the command line and the console share
    documents/   JSON documents of jobs, apps, plans, sagas and workers
    why/         explanation of a job's state           observe/     metrics, overview page, findings of the doctor
    graph/       pictures of apps and of live jobs      bench/       benchmarks
    autoscale/   workers by demand on one machine       deploy/      manifests for Kubernetes
    starter/     templates of the projects that ``sluice init`` creates
    simulation/  pipelines in virtual time for tests of users and of Sluice
    tools/       ``make demo``, ``docs/states.md`` and other generated pages
"""
