"""Command ``sluice config show``: show the effective settings, each with the place that determined it."""

import argparse

from sluice.actors.settings.settings import process_found
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.documents.setting_document import UNSET, SettingDocument, settings_documents


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, options: Options) -> int:
    found = process_found(apps=options.apps, ledger_url=options.ledger, broker_url=options.broker)
    settings = list(settings_documents(found))
    rows = [(each.name, _value(each), each.origin) for each in settings]
    context.output.answer(settings, Table(("setting", "value", "from"), rows))
    return DONE


def _value(setting: SettingDocument) -> str:
    """Return the value, or a description of the default."""
    return setting.value or UNSET.get(setting.name, "none").replace("`", "")
