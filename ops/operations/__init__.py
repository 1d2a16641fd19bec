"""Queries and actions of an operator, shared by the command line and the console."""
