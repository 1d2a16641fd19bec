"""What a message implies.

This room owns the keyspaces (which jobs need which), the walk that closes what is wanted over its missing
parents, and the rules by which an outcome is judged.

What holds: everything here is pure. It takes values and, where it matters, the time; it returns values that
say what to do. The relation between jobs is one, read from both ends: ``gates`` and ``children`` of a
keyspace are inverse for whatever a catalogue holds.

It must not know: the ledger, the broker, the clock, the environment.
"""
