"""``sluice schedules pause``: let due times pass until it is resumed."""

import argparse

from actors.by_hand import pause
from ledger.reads import schedules as reads
from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE
from ops.cli.page import Line
from ops.desk.installation import Installation
from ops.desk.standing import known_ids


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="which; what they have submitted goes on")


def run(desk: CommandDesk, options: Options) -> int:
    installation = Installation(desk)
    ids = known_ids(desk, installation.ask(lambda tx: reads.schedules(tx, retired=False)), options.ids)
    catalogue = desk.catalogue if desk.settings.apps else None
    paused = pause(installation.ledger, catalogue, ids)
    others = [id_ for id_ in ids if id_ not in paused]
    desk.output.answer(
        {"paused": paused},
        *(Line(f"{id_} is paused.") for id_ in ids if id_ in paused),
        *(Line(f"{id_} was paused before.") for id_ in others),
    )
    return DONE
