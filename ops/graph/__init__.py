"""Graphs of apps and of live jobs: as data, as text for other programs, and as a picture.

``graph`` has the nouns. ``apps`` and ``jobs`` make one of definitions or of what the ledger has; ``written``
spells it in Mermaid, DOT or JSON; ``layout`` finds a place for everything and ``svg`` draws it.
"""
