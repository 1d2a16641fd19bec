"""Types that describe jobs.

This package defines the types that all other packages use:

- apps and their keys, states and the verbs between them, submissions, policies, outcomes and errors
- the catalogue, which makes apps from definitions
- the runners, which do the work of a job
- the small API for users, which is all that they import::

    from sluice import app

    @app(job_id="{date}_{client_id}", identifiers={"date": "date", "client_id": "int"})
    def preprocess(date, client_id): ...

    model/       apps, jobs, plans, submissions, history      catalogue/   definitions, read and checked
    keys/        identifiers, work IDs, partitions            runners/     functions, commands, programs
    policy/      limits, retries, priorities                  sagas/       flights of sagas and their steps
    schedules/   due times and their submissions              managers/    job managers for external work
    programs/    store of fetched programs                    blobs/       store of large outputs
    text/        parsing and formatting of values             observe/     failpoints, log fields, traces
    processes/   locks between processes                      api, retry   for users
    states       the states and all transitions

Invariants: these types are values. They do not change and do no I/O. An app in a catalogue has been checked. A key in
a ``JobName`` is canonical. State names are spelled in ``states`` only.

This package must not import the other packages: not the ledger, the broker, the planner or the actors.
"""
