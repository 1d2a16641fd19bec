"""Command ``sluice deploy kubernetes``: write manifests for the whole installation, with workers and scalers for the
apps.
"""

import argparse
import re
from pathlib import Path

from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.cli.submission_options import duration_option
from sluice.ops.deploy.bundle import ManifestSettings, bundle
from sluice.ops.deploy.groups import WorkerGroup, group, read_groups

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("kubernetes"),
        metavar="DIR",
        help="folder for the files; default: %(default)s",
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME=APP,…",
        help="apps that share workers; may be repeated; default: each app has its own",
    )
    parser.add_argument(
        "--namespace", type=_namespace, default="sluice", help="namespace in Kubernetes; default: %(default)s"
    )
    parser.add_argument(
        "--image", type=_image, default="sluice:latest", help="image of the containers; default: %(default)s"
    )
    parser.add_argument(
        "--threads", type=_positive, default=4, help="jobs that run at once in a worker; default: %(default)s"
    )
    parser.add_argument(
        "--grace",
        type=duration_option,
        default=20,
        metavar="TIME",
        help="time for running jobs when a worker stops; use the duration of your jobs; default: 20s",
    )
    parser.add_argument(
        "--least",
        type=_number,
        default=0,
        metavar="N",
        help="minimum workers of a group; default: %(default)s",
    )
    parser.add_argument(
        "--most",
        type=_positive,
        default=10,
        metavar="N",
        help="maximum workers of a group; default: %(default)s",
    )
    parser.add_argument(
        "--service-monitor",
        action="store_true",
        help="have the Prometheus Operator scrape the console",
    )


def run(context: CommandContext, options: Options) -> int:
    if options.least > options.most:
        raise BadRequest(f"--least {options.least} is more than --most {options.most}.")
    groups = group(context.catalogue, read_groups(options.group))
    written = _write(options.output, bundle(groups, _terms(options)))
    rows = [(f"sluice-worker-{each.name}", ", ".join(each.apps)) for each in groups]
    context.output.answer(
        {"written": written, "workers": [_document(each) for each in groups]},
        Table(("workers", "for"), rows, prose=True),
        Paragraph(f"{len(written)} files are in {options.output}. Next: kubectl apply -k {options.output}"),
    )
    return DONE


def _terms(options: Options) -> ManifestSettings:
    return ManifestSettings(
        namespace=options.namespace,
        image=options.image,
        threads=options.threads,
        grace_s=round(options.grace),
        least=options.least,
        most=options.most,
        service_monitor=options.service_monitor,
    )


def _write(folder: Path, texts: dict[str, str]) -> list[str]:
    for path, text in texts.items():
        place = folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        except OSError as error:
            raise BadRequest(f"The file cannot be written: {error.strerror}.", where=str(place)) from None
    return sorted(texts)


def _document(group: WorkerGroup) -> dict[str, object]:
    return {"name": f"sluice-worker-{group.name}", "apps": list(group.apps)}


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} must be lowercase letters, digits and dashes")
    return text


def _image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an image, like registry.example/sluice:1.0")
    return text


def _positive(text: str) -> int:
    return max(_number(text), 1)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)
