"""The ``sluice`` command: a table of commands, each a function of the desk and its options."""
