"""``sluice apps show``: what the definitions come to."""

import argparse

from jobs.app import App
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.page import Line, Table


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", nargs="?", help="this one alone, with all there is to say of it")


def run(desk: Desk, options: Options) -> int:
    if options.app is None:
        apps = sorted(desk.catalogue.values(), key=lambda app: (desk.catalogue.rank(app.name), app.name))
        desk.output.answer([_document(desk, app) for app in apps], _table(desk, apps))
    else:
        app = desk.catalogue.app(options.app)
        document = _document(desk, app)
        desk.output.answer(
            document,
            _table(desk, [app]),
            Line(),
            Table(("", ""), [(word, _words(value)) for word, value in document.items() if value], prose=True),
        )
    return 0
