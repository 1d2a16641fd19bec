"""One ordeal for all: the same jobs and the same faults for Sluice, for dramatiq and for Celery.

Somebody publishes a job now and then, and takes down which ones were accepted. Workers die and are replaced,
connections are cut, the broker is killed and comes back; the same faults at the same times for everyone. Then all of it
is healed, and whoever still has work may finish it. What was accepted and never done is lost; what was done to its end
twice is doubled.

    python -m tests.ordeal --jobs 2000 --seconds 40 --seed 1

It compares, so it is no test: Celery has to be there, which the ``bench`` extra brings. Each of the contenders is a
module that its own worker command loads, and that publishes when it is run.
"""
