"""Graphs of apps and of live jobs: as data, as text for other programs, and as a picture.

    graph               nodes and edges; ``apps`` and ``jobs`` make them of definitions and of what the ledger has
    folding             many equal jobs as one
    written             JSON, Mermaid, DOT

    svg                 the picture, in these steps:
    chart, cards        the parts of a graph, what stands together in a frame, and how big its boxes are
    layering            left to right          ordering     top to bottom, so that few lines cross
    mesh                where lines bend       placing      how far down
    columns, strips     how far right          routing      the way of each line            → ``sheet``
    graphviz            instead of all these, where it is installed
    packing, drawing    sheets on paper        legend, palette, stylesheet    how it looks

What holds: the same graph gives the same picture; boxes lie clear of each other, and no line runs through one.
"""
