"""Pictures of the documentation: screens of the console, and a recording of a terminal.

``python -m tests.pictures`` renews them in ``docs/pictures``.
"""
