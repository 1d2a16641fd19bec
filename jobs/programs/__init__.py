"""The store of programs: fetched, verified, unpacked, kept."""

from jobs.programs.rules import Rules
from jobs.programs.source import Source, parse_source
from jobs.programs.store import ProgramStore
from jobs.programs.unfit import Stopped, Unfit

__all__ = ["ProgramStore", "Rules", "Source", "Stopped", "Unfit", "parse_source"]
