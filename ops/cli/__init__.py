"""The ``sluice`` command: a table of commands, each with its options and a function that runs it."""
