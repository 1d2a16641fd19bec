"""Command ``sluice apps check``: load the definitions. Loading checks them, and the error lists every fault.

Redundant dependencies and parameters that the key does not have are remarks and no faults.
"""

import argparse
from typing import Any

from sluice.jobs.catalogue.parameters_outside_keys import ParametersOutsideKey, parameters_outside_keys
from sluice.jobs.catalogue.redundant_dependencies import redundant_dependencies
from sluice.jobs.catalogue.resolve.tables import tables_of
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    apps = list(context.catalogue)
    plural = "app" if len(apps) == 1 else "apps"
    timed = list(context.catalogue.schedules)
    told = f", {len(timed)} {'schedule' if len(timed) == 1 else 'schedules'}" if timed else ""
    tables = [each.name for each in tables_of(context.catalogue) if each.filled_by is None]
    document: dict[str, Any] = {"apps": apps} | ({"schedules": timed} if timed else {})
    lines = [Paragraph(f"{len(apps)} {plural}{told}, no faults.", "green")]
    if tables:  # A misspelled table is among them.
        document["externals"] = tables
        lines.append(Paragraph(f"Tables that no app fills: {', '.join(tables)}."))
    if redundant := redundant_dependencies(context.catalogue):
        document["redundant"] = redundant
        lines += [
            Paragraph(
                f"Remark: {each.app} need not depend on {each.parent}, because it waits for the same job by"
                f" {' -> '.join(each.path)}. It matters only if {each.parent} runs again alone."
            )
            for each in redundant
        ]
    if outside := list(parameters_outside_keys(context.catalogue)):
        document["parameters"] = outside
        lines += [Paragraph(_remark(each)) for each in outside]
    context.output.answer(document, *lines)
    return DONE


def _remark(each: ParametersOutsideKey) -> str:
    names = ", ".join(each.parameters)
    return (
        f"Remark: the function of {each.app} requires {names}, and its key {each.key} has no such identifier. So"
        " each submission has to give it as a kwarg."
    )
