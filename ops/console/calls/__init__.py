"""The console's calls: a module a noun, each with a table of its routes, and ``routes`` with all of them.

What holds: a call that looks answers with what a command's ``--json`` does, where there is such a command; one that
acts writes who asked for it into the audit, in the transaction of the act.
"""
