"""What a job is.

This room owns the nouns that all others speak in: apps and their keys, states and the verbs between them,
submissions, policies, outcomes, errors; the catalogue that makes apps of definitions; the runners that do a
job's work; and the little that users write, which is all that they import::

    from sluice import app

    @app(job_id="{date}_{client_id}", identifiers={"date": "date", "client_id": "int"})
    def preprocess(date, client_id): ...

What holds: nouns are values, they do not change and do no I/O. An app that is in a catalogue has been
checked. A key is canonical wherever a ``JobName`` holds it. State names stand in ``states`` alone.

It must not know the other rooms: not the ledger, not the broker, not who plans or runs.
"""
