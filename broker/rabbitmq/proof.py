"""What RabbitMQ's client makes of the options of an address, as far as proof is concerned."""

from ssl import CERT_REQUIRED

import pika

from sluice.broker.proof import Proof


def asked(url: str) -> Proof | None:
    """None where nobody knows, for the client will not have these options. Nothing is connected to."""
    try:
        options = pika.URLParameters(url).ssl_options
    except (AttributeError, OSError, SyntaxError, TypeError, ValueError):
        return None  # It reads a dictionary of Python's, and the files that are named there.
    if options is None:
        return Proof(vouched=False, named=False)
    return Proof(options.context.verify_mode == CERT_REQUIRED, options.context.check_hostname)
