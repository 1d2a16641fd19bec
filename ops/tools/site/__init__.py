"""The documentation as a site: Markdown pages in an order, made into HTML that needs no network.

Checks are strict. A page in no section, a link to nowhere and a missing heading are faults. If there is a fault, no
site is made.
"""
