"""Keeps as many workers on this machine as there is work for, between bounds.

It owns how many there should be (``deciding``, which is a function of what was seen), for which queues (``watch``), and
the processes (``crew``). What holds: there are never more of them than the upper bound, those that are on their way out
among them; one that is to go is told once, finishes what it runs within its grace time, and is killed only where
somebody has said twice that all is to end; while the ledger does not answer, or refuses to, nobody is sent away; where
an error ends us, all are told to go and are waited for. It knows no SQL and no messages: how much there is to do it
asks as everybody else does (``ops.demand``).
"""
