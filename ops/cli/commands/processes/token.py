"""Command ``sluice token``: make a named token for the console, and print its entry for the file of tokens.

Neither the token nor its entry is stored.
"""

import argparse
import json
import secrets
from typing import Any

from sluice.jobs.errors import BadRequest
from sluice.jobs.policy.tenants import NAME_ADVICE, is_tenant_name
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.console.identity.roles import Role
from sluice.ops.console.identity.sessions import digest_of
from sluice.ops.console.identity.token_file import is_token_name

#: First part of a token. Scanners for secrets can find tokens by it.
PREFIX = "sluice_"
#: Random bytes of a token: 256 bits.
_RANDOM_BYTES = 32


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the token in the audit, like ci-risk")
    parser.add_argument(
        "--role",
        required=True,
        choices=[*map(str, Role)],
        help="view: read; submit: also submit jobs; operate: all acts",
    )
    parser.add_argument(
        "--tenant", metavar="TENANT", help="only the apps of this tenant; default: the whole installation"
    )


def run(context: CommandContext, options: Options) -> int:
    if not is_token_name(options.name):
        raise BadRequest(
            f"{options.name!r} is no name of a token.",
            advice="Write lower-case letters, digits, - and _, but not view or operate.",
        )
    if options.tenant is not None and not is_tenant_name(options.tenant):
        raise BadRequest(
            f"{options.tenant!r} is no name of a tenant.",
            advice=f"{NAME_ADVICE.capitalize()}.",
        )
    token = f"{PREFIX}{secrets.token_urlsafe(_RANDOM_BYTES)}"
    tenant = {} if options.tenant is None else {"tenant": options.tenant}
    entry = {"role": options.role, **tenant, "sha256": digest_of(token)}
    context.output.answer(
        {"name": options.name, "token": token, "entry": entry},
        Paragraph(f"Token, which is not shown again: {token}"),
        Paragraph("Entry for the file of SLUICE_CONSOLE_TOKENS:", "bright_black"),
        *(Paragraph(line) for line in _lines(options.name, entry)),
    )
    return DONE


def _lines(name: str, entry: dict[str, Any]) -> list[str]:
    """Return the entry in YAML. JSON's quoted texts are YAML too."""
    return ["tokens:", f"  {name}:", *(f"    {word}: {json.dumps(value)}" for word, value in entry.items())]
