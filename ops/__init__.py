"""The operator's desk: the command line, and later the console and the benchmarks.

Owns how things look to people. What it shows it reads from the ledger; what it does goes through the same
submissions and messages that every other program uses. Nothing imports this room.
"""
