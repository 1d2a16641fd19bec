"""The exit codes of the command. Errors bring their own: 2 for bad definitions, keys and options, 3 for a ledger
or a broker out of reach (``jobs.errors``)."""

DONE = 0
#: The work did not succeed.
FAILED = 1
#: The planner refused the submission.
REFUSED = 2
#: As the errors say that are raised for it.
OUT_OF_REACH = 3
#: A fault of Sluice itself.
BROKEN = 70
INTERRUPTED = 130
