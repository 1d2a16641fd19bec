"""Files that run Sluice elsewhere: what stands in them for all installations, and what follows from a catalogue.

``kubernetes`` has manifests for the parts that every installation has, and forms of those that each group of apps
gets (``bundle`` fills them in). What holds: the same catalogue and options give the same bytes, and every name is one
that Kubernetes takes, whatever apps are called. Nothing here asks a ledger, a broker or a cluster.
"""
