"""Store of programs: fetched, verified, unpacked, kept, and copied for each run.

    with ProgramStore(folder, rules).program("crawler", "https://…/crawler-1.tar.gz", stop=stop, say=log) as folder:
        …  # run ./run.sh in this folder

The store is one folder, shared by the threads and processes of one machine. It must be on a local disk because the
locks are the machine's own. It knows nothing of jobs, apps, rounds and the ledger: a program is a name and a source.

Invariants:

- A version is named by the digest of the fetched file. It appears under its name only when it is complete, verified and
  on the disk, and never changes after that. With a ``sha256``, only the version with that digest is run.
- Before each run the stored copy is compared with the archive that it was unpacked from, and the archive with its
  digest. A changed copy is removed and fetched again.
- All versions together use at most the allowed bytes, whichever processes fetch at the same time.
- A run has a copy of its own. No other run sees the files that a program writes, and none of them remain.
- No archive can cause a write outside the folder it is unpacked into, or more data than allowed.
- No caller waits for a server, a process or a lock longer than ``fetch_timeout_s`` in one phase (fetch, or comparison
  and copy), nor after ``stop`` is set.
- Every failure of a source or a disk is Unfit, with one line that contains no secrets.

Races:

- Two checks of one source: one holds the source's folder and checks, the other waits for it. A waiting caller then uses
  the recorded result if that check began after its own request; otherwise it makes a check itself. So only the first of
  several waiting callers makes a check. A pinned version that is in the store needs no lock on its source.
- Two sources with the same content: both unpack aside, the first rename wins, and the other uses that version.
- A copy against a removal of the same version: the copy holds it shared. The removal needs it exclusively, and moves
  the version aside before it deletes it. A sweep checks its age again under the lock. If the copy comes too late, it
  checks the source again.
- Two fetches of different sources: each reserves its bytes under the lock of ``versions`` before it unpacks. A
  reservation counts as long as its process lives.
- Two callers find one copy changed: one removes it when no run holds it, the other compares again and finds the new
  one.
- The folder of a run or a fetch against the sweep: its process holds its lock from its creation on. A child process
  that works in it (rsync, cp) also holds the lock.

A crash leaves folders in ``aside`` and ``runs`` that no process holds any more; the next sweep removes them. A record
without its version, or a version without its record, is fetched again, or found by its digest.

    source, names, errors    sources and names that are valid, limits, and the texts of refusals
    fetch/                   http and https, rsync over ssh, files; limits of time and size; allowed hosts
    archive/                 strict readers of archives, checks of their members, the unpacked files
    store, program_cache     folders of the store, their records and locks, and the copy for each run
    content_digest           the digest of a whole tree
"""
