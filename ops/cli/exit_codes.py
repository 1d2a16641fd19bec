"""Exit codes of the command. Errors have their own codes: 2 for invalid definitions, keys and options, and 3 for a
ledger or a broker out of reach (``jobs.errors``).
"""

DONE = 0
#: The work did not succeed.
FAILED = 1
#: The planner refused the submission.
REFUSED = 2
#: Same value as the exit code of the errors for this case.
OUT_OF_REACH = 3
#: A defect of Sluice itself.
BROKEN = 70
INTERRUPTED = 130
