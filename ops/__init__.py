"""The operator's desk: the command line, and later the console and the benchmarks.

Owns how things look to people. What it shows it reads from the ledger; what it does goes through the same
submissions and messages that every other program uses. Nothing imports this room.

    cli/       the ``sluice`` command: a table of commands, a module for each, and what they share
    why/       why a job is in its state, in words        graph/    pictures of apps and of live jobs
    simulation/  pipelines in virtual time, for tests of users and our own
    preview, facts      the JSON of ``sluice plan``       dossier   the JSON of ``sluice show``
    demo                ``make demo``                     states_page   ``docs/states.md``
"""
