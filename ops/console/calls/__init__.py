"""The calls of the console: one module per noun, each with a table of its routes. ``routes`` has all of them.

A call that reads returns the same document as ``--json`` of the corresponding command, if there is a command. A
call that acts records its sender in the audit, in the transaction of the act. Each route has a decision about senders
of one tenant (``tenancy``).
"""
