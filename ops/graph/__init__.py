"""Graphs of apps and of live jobs: as data, as text for other programs, and as a picture.

    graph               nodes and edges; ``apps`` builds them from definitions, ``jobs`` from the ledger
    folding             many equal jobs as one node
    written             JSON, Mermaid, DOT

    svg                 the picture, in these steps:
    chart, cards        connected parts of a graph, frames, and the sizes of boxes
    layering            left to right           ordering     top to bottom, so that few lines cross
    mesh                bends of lines          placing      vertical positions
    columns, strips     horizontal positions    routing      the path of each line            → ``sheet``
    graphviz            replaces all these steps if it is installed
    packing, drawing    sheets on paper         legend, palette, stylesheet    appearance

The same graph results in the same picture. Boxes do not overlap, and no line runs through a box.
"""
