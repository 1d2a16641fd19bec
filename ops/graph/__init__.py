"""Graphs of apps and of live jobs: as data, as text for other programs, and as a picture.

    model               nodes and edges
    app_graph           the graph of apps, from definitions
    job_graph           the graph of live jobs, from the ledger
    equal_jobs          many equal jobs as one node
    text_formats        JSON, Mermaid, DOT

    render.svg          the picture, in these steps:
    layout.chart        connected parts of a graph, frames, and the sizes of boxes
    layout.layers       left to right           layout.order        top to bottom, so that few lines cross
    layout.mesh         bends of lines          layout.coordinates  vertical and horizontal positions
    layout.routes       the path of each line   layout.sheet        the result
    render.paper, render.svg_elements           sheets on paper
    render.legend, render.stylesheet            appearance

The same graph results in the same picture. Boxes do not overlap, and no line runs through a box.
"""
