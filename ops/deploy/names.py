"""Names of an app's workers in Kubernetes.

Names of apps may have upper-case letters, dots and underscores. Names in Kubernetes have lower-case letters, digits and
dashes. A name that is valid in Kubernetes stays as it is. Any other name gets a digest, so that two apps never get the
same name.
"""

import re
from hashlib import sha256

#: Maximum length of a name. With the prefix ``sluice-worker-``, and ``keda-hpa-`` that KEDA's autoscaler adds before
#: it, a name has 63 characters.
LENGTH_MAX = 40
_DIGEST_LENGTH = 8
_SOUND = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_OTHER = re.compile(r"[^a-z0-9]+")


def is_name(text: str) -> bool:
    return len(text) <= LENGTH_MAX and _SOUND.fullmatch(text) is not None


def name_of(app: str) -> str:
    """Return the name for an app. It does not depend on other apps."""
    if is_name(app):
        return app
    digest = sha256(app.encode()).hexdigest()[:_DIGEST_LENGTH]
    room = LENGTH_MAX - _DIGEST_LENGTH - 1
    return f"{_OTHER.sub('-', app.lower()).strip('-')[:room].strip('-')}-{digest}"
