"""The store of programs: fetched, verified, unpacked, kept, and copied for each run.

    with ProgramStore(folder, rules).program("crawler", "https://…/crawler-1.tar.gz", stop=stop, say=log) as folder:
        …  # run ./run.sh there

Owns one folder, which the threads and processes of one machine share (a local disk; the locks are its own).
Knows nothing of jobs, apps, rounds and the ledger: a program has a name and a source, and that is all.

What holds:

- A version is named by the digest of what was fetched. It is seen under its name only when it is whole, verified
  and on the disk, and is never changed after; with a ``sha256`` it is the only one that is run.
- Before each run the stored copy is compared with the archive that it was unpacked from, and that with its digest. A
  changed copy is removed and fetched again.
- All versions together take no more bytes than allowed, whichever processes fetch at once.
- A run has a copy of its own, so what a program writes is seen by no other run, and nothing of it stays.
- Whatever an archive says, nothing is written outside the folder it is unpacked into, and no more than allowed.
- Nobody waits for a server, a process or a lock longer than ``fetch_timeout_s``, nor after ``stop`` is set.
- What can go wrong with a source or a disk is Unfit, one line without secrets.

Who races whom:

- Two that look at one source: one has the source's folder and looks, the other waits for it. Then he asks whether it
  has changed since that look began, and all who wait with him take his answer, since he began after they had asked.
  What is pinned and here is taken without any lock on its source.
- Two sources with the same content at once: both unpack aside, the first rename wins, the other takes that one.
- Who copies a version against who removes it: the copier holds it shared, the remover alone, and looks at its age
  again then; he moves it aside before he removes it. Who comes too late for the copy looks at the source again.
- Two that fetch different sources at once: each reserves its bytes while it holds the lock of ``versions``, before it
  unpacks; a reservation counts as long as the process that made it lives.
- Two that find a copy changed: one removes it when no run holds it, the other compares again and finds the new one.
- The folder of a run or a fetch against the sweep: it is locked from its making on, by its process; a process that
  works in it (rsync, cp) holds the lock, too.

What a crash leaves: folders in ``aside`` and ``runs`` that nobody holds any more, and the next one who comes removes
them. A record without its version, or a version without its record, is fetched again, or found by its digest.

    source.py  unfit.py  rules.py  names.py     what may be asked for, and the words of a refusal
    web.py  wire.py  hosts.py                   http and https          rsync.py  watched.py   rsync over ssh
    local.py  spool.py  mark.py                 files; what was read; whether it has changed since
    unpack.py  tars.py  zips.py  streams.py     archives                tree.py  links.py      where they are written
    members.py  contents.py                     checks of their members, and the digest of a whole tree
    store.py  shelves.py  record.py  lock.py    what lies where, and whose it is       patience.py
    copying.py  removing.py                     the folder of a run, made and gone
"""
