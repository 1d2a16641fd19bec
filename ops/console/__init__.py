"""The console's calls by HTTP: what a message or a command does, for whoever speaks HTTP.

It owns who may ask (``gate``), which call a path is (``calls``), and the sockets (``server``). What holds: nothing is
asked of the ledger for somebody who may not ask; every answer is one JSON document, an error as problem details (RFC
9457); a request is bounded in size and time, and there are no more at once than places. It knows no SQL and no
messages: whatever a call does, ``actors.client.Client`` does.
"""
