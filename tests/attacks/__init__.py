"""Attacks on one running installation, each made from outside as an attacker would make it.

An attack returns the line with which it was refused, and raises AssertionError if it succeeds. While it runs, a
*probe* submits sound jobs, which all have to start and succeed. ``python -m tests.attacks`` makes all of them and
prints a table.
"""
