"""Users' own words in a picture."""

import html

from sluice.ops.words import legible


def escaped(*lines: str) -> str:
    """Characters that XML forbids are shown as what they are: illegible."""
    return "\n".join(html.escape(legible(line)) for line in lines)
