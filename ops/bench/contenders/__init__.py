"""Who can be measured on a course: Sluice, and others on the same servers, each in processes of its own.

Others are run as their own documentation starts them, at the settings that the contender's module names. What they
import is not among Sluice's dependencies: ``pip install 'sluice-jobs[bench]'``.
"""
