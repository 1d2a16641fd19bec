"""Tools for the development of Sluice, which are not in its distribution: the demo, the pages that are made from
code, and the bill of materials.
"""
