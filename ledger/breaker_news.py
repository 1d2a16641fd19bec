"""What the breakers are told of rounds that end, by the very statements that end them.

Whoever ends rounds writes one small row for each app of them that has a breaker, and nothing else: no row is written by
all, so no order of locks changes and nobody waits. ``breakers`` adds them up.

What holds: a failed round of such an app has its row in the transaction that ended it. A success has one where it
could matter: while fails are counted, or are still to be, or the breaker is open. A healthy app writes none. Where
there is no breaker, no statement is added and no row written.
"""

from sluice.jobs.history import Lost
from sluice.jobs.outcome import Ending

#: A round that was lost, or handed back, says nothing about what the app needs; nor does a saga that was turned back.
FAILED = (Ending.ERROR, Ending.DISMAL, Ending.TIMED_OUT, Lost.TIMED_OUT)
SUCCEEDED = Ending.DONE
#: Of what a failed round has said, so many characters of the first line are kept.
ERROR_CHARACTERS_MAX = 200

_FAILED = ", ".join(f"'{ending}'" for ending in FAILED)
_HAS_FAILED = f"ended.ending IN ({_FAILED}) AND ended.turn_back IS NULL"
_MATTERS = """
bool_or(breaker.fails > 0) OR EXISTS (SELECT 1 FROM breaker_news news WHERE news.app = breaker.app)
OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = breaker.app AND app_pause.until IS NOT NULL)
"""


def telling(ended: str) -> str:
    """The statement that tells them of these: rows of ``app``, ``ending``, ``error`` and ``turn_back``.

    Where no app has a breaker, Postgres finds that out once, and looks at none of the rows.
    """
    return f"""
    INSERT INTO breaker_news (app, failed, succeeded, error)
    SELECT breaker.app, count(*) FILTER (WHERE {_HAS_FAILED}),
           count(*) FILTER (WHERE ended.ending = '{SUCCEEDED}'),
           max(left(split_part(ended.error, chr(10), 1), {ERROR_CHARACTERS_MAX})) FILTER (WHERE {_HAS_FAILED})
    FROM ({ended}) ended JOIN breaker ON breaker.app = ended.app
    WHERE EXISTS (SELECT 1 FROM breaker) AND (ended.ending = '{SUCCEEDED}' OR {_HAS_FAILED})
    GROUP BY breaker.app HAVING bool_or({_HAS_FAILED}) OR {_MATTERS}
    """
