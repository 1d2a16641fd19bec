"""The documentation as a site: pages of Markdown in an order, made into HTML that needs no network to be read.

Nothing is lenient: a page that is in no section, a link that leads nowhere, a heading that is not there, are faults;
and with a fault there is no site.
"""
