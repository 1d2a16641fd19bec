"""The real handlers on a real ledger, in one thread, in virtual time, with a network and workers that fail on order.

Owns what stands in for time, the network and the deaths of processes; nothing of the system itself is stood in for.
A seed decides all that happens, so that whatever went wrong happens again::

    fate            what goes wrong, and all else that is drawn      agenda      what happens when
    installation    handlers, messages on their way, workers         fleet       one worker
    crashing        a ledger whose caller dies around a commit       work        what jobs take and come to
    flights         runs of sagas, on ``strands``                    telling     what went wrong, in words

What holds: nothing happens at the same time as anything else. Each chance is drawn by the name of the occasion
(which message, which transaction of whom) and not from one stream, so that a fault that is left out changes nothing
but what follows from it.

``simulated`` is a simulation for the tests of users, who reach it through the pytest fixture ``pipeline`` (``plugin``)
and import nothing from here. The tests of Sluice draw worlds, and watch them, on the same engine (tests/simulation).
"""
