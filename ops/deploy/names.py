"""What Kubernetes calls the workers of an app.

Apps have letters of both cases, dots and underscores in their names; a name there has small letters, digits and dashes.
One that is such a name stays as it is. Of any other a digest is part, so that two apps never come to one name.
"""

import re
from hashlib import sha256

#: Before it stands ``sluice-worker-``, and KEDA's autoscaler puts ``keda-hpa-`` before that: 63 in all.
LENGTH_MAX = 40
_DIGEST_LENGTH = 8
_SOUND = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_OTHER = re.compile(r"[^a-z0-9]+")


def is_name(text: str) -> bool:
    return len(text) <= LENGTH_MAX and _SOUND.fullmatch(text) is not None


def name_of(app: str) -> str:
    """The same for the same app, whatever other apps there are."""
    if is_name(app):
        return app
    digest = sha256(app.encode()).hexdigest()[:_DIGEST_LENGTH]
    room = LENGTH_MAX - _DIGEST_LENGTH - 1
    return f"{_OTHER.sub('-', app.lower()).strip('-')[:room].strip('-')}-{digest}"
