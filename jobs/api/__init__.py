"""Python form of definitions: decorators, signatures and options of users' functions.

- ``decorators``: ``app``, ``saga`` and ``schedule``.
- ``definition``: the decorated function, and the dependencies that it offers (``fetch.all("shop")``).
- ``options``: names, types and descriptions of all options, for type checkers and for the reference.
- ``signature``: identifiers, kwargs and the job, as a function's parameters declare them.

Everything here is converted to the options of the declarative form (``jobs.catalogue.sources.python_options``). So a
definition in Python and the same one in a file have the same digest.
"""
