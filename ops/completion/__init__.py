"""Shell completion of the ``sluice`` command.

The script that ``sluice completion`` prints contains all data from Sluice's parsers, so no Sluice command starts while
the user types. Only names from the definitions are looked up at that time, by ``names``. That file needs only Python
itself, and runs without the slow parts of Python's start (``-I -S``).
"""
