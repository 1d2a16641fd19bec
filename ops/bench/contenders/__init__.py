"""Systems that can be measured: Sluice and others, on the same servers, each in its own processes.

The other systems are started as their own documentation describes, with the settings that the module of the
contender names. Their packages are not dependencies of Sluice: ``pip install 'sluice-jobs[bench]'``.
"""
