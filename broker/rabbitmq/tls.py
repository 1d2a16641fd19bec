"""Proof of identity that RabbitMQ's client requires with the options of an address."""

from ssl import CERT_REQUIRED

import pika

from sluice.broker.tls import Proof


def asked(url: str) -> Proof | None:
    """Return the required proof, or None if the client rejects these options. No connection is made."""
    try:
        options = pika.URLParameters(url).ssl_options
    except (AttributeError, OSError, SyntaxError, TypeError, ValueError):
        return None  # pika evaluates a Python dictionary in the options, and reads the files that it names.
    if options is None:
        return Proof(vouched=False, named=False)
    return Proof(options.context.verify_mode == CERT_REQUIRED, options.context.check_hostname)
