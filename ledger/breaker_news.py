"""Reports of ended rounds to the breakers, written by the statements that end the rounds.

A transaction that ends rounds inserts one small row for each of their apps that has a breaker, and nothing else. No row
is shared by these transactions, so the lock order does not change and no transaction waits. ``breakers`` adds them up.

Invariants: a failed round of such an app has its row in the transaction that ended it. A success has a row only if it
could matter: while failures are counted or are yet to be counted, or while the breaker is open. A healthy app writes no
rows. If no app has a breaker, no statement is added and no row is written.
"""

from sluice.jobs.history import Lost
from sluice.jobs.outcome import Ending

#: Endings that count as failures. A round that was lost or handed back, and a saga that was turned back, do not count:
#: they show nothing about the systems that the app needs.
FAILED = (Ending.ERROR, Ending.DISMAL, Ending.TIMED_OUT, Lost.TIMED_OUT)
SUCCEEDED = Ending.DONE
#: Characters that are kept of the first line of a failed round's error.
ERROR_CHARACTERS_MAX = 200

_FAILED = ", ".join(f"'{ending}'" for ending in FAILED)
_HAS_FAILED = f"ended.ending IN ({_FAILED}) AND ended.turn_back IS NULL"
_MATTERS = """
bool_or(breaker.fails > 0) OR EXISTS (SELECT 1 FROM breaker_news news WHERE news.app = breaker.app)
OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = breaker.app AND app_pause.until IS NOT NULL)
"""


def telling(ended: str) -> str:
    """Return the statement that reports ended rounds: ``ended`` yields ``app``, ``ending``, ``error``, ``turn_back``.

    If no app has a breaker, Postgres finds that out once, and reads none of the rows.
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
