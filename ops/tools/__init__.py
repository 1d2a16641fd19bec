"""Tools for the development of Sluice, which are not in its distribution: the demo, and the pages that are made from
code.
"""
