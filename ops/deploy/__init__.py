"""Files that run Sluice on other machines. One part is the same for all installations, and one part is generated from a
catalogue.

``kubernetes`` has manifests for the parts of every installation, and templates for the parts of each group of apps.
``bundle`` fills in the templates. The same catalogue and options give the same bytes. Every name is valid in
Kubernetes, for any name of an app. Nothing in this package contacts a ledger, a broker or a cluster.
"""
