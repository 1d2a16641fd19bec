"""Users' texts in a picture."""

import html

from sluice.ops.words import legible


def escaped(*lines: str) -> str:
    """Escape lines for XML. Unprintable characters are replaced by a visible character, because XML forbids some of
    them.
    """
    return "\n".join(html.escape(legible(line)) for line in lines)
