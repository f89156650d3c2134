/* What is on the disk, and the rules for changing it. An essay; nothing is
 * declared here.
 *
 *
 * 1. The directory
 *
 *     belfry         one line: whose data this is, and its format
 *     lock           flock()ed by the process that uses the directory
 *     ballast        2 MiB of nothing, let go so that a start on a full disk
 *                    succeeds
 *     log/           the log: log/log.h describes segments and records
 *     base/          RocksDB: one column family per line of families.def
 *
 * The log is the truth about what was promised; the base is the log's past,
 * netted and sorted. Both carry the same index:
 *
 *     log index   1 ........ flushed ........ applied ........ durable ... last
 *                 |  released  |  in memtables   |   overlay only   | unsynced
 *
 *   - `flushed` is what meta/applied says on the disk that it is sure of.
 *     Replay begins behind it, and the log may be released up to it, never
 *     further. Of what comes behind it RocksDB may have flushed some.
 *   - `applied` is what meta/applied says in memory. Every write batch to the
 *     base contains exactly one generation and its last index, so the base in
 *     memory is always the state after some entry, never between two.
 *   - All families are flushed together (atomic_flush), by the applier. Some
 *     may be later on the disk than `flushed` says (store/rocks_file.c;
 *     store/rocks.h, fact 7). Replay makes up for it.
 *
 *
 * 2. Entries (store/entry.h)
 *
 * An entry is what one tick did: puts, deletes, range deletions and events, in
 * order. It contains results, never commands; replay reads no clock and no
 * random number. Its bytes exist once in memory, in the region of a generation,
 * from where the log writes them and where the overlay's maps point to.
 *
 *     0       4         8            16
 *     version changes   wall clock   changes...
 *
 * A put says whether it is *fresh*: whether the engine knows that no row of
 * this key exists anywhere. A replay believes no such word: the base may have
 * rows of entries that it does not count as applied (store/rocks_file.c).
 *
 *
 * 3. The net
 *
 * Within a generation, and only there, later changes replace earlier ones
 * (store/generation.h has the rules). The one that loses data when it is
 * forgotten: a put over a delete is not fresh. Consider a row that is in the
 * base, and a generation that deletes it, puts it again and deletes it once
 * more. Were the second put taken as fresh, the last delete would vanish with
 * it, and the row of the base would be back.
 *
 * Why a replay nets nothing away: an entry holds `put k` (fresh), a later one
 * `del k`. The base may have been given the first in a table, and have lost in
 * a crash that it was applied. Replayed within one generation, the two would
 * vanish and leave k in the base for ever.
 *
 *
 * 4. Keys (store/key.h)
 *
 * Numbers are big-endian, so byte order is the order of numbers; ids sort by
 * creation; a name that something follows has its length in front. Nobody
 * outside store/ puts bytes of keys together.
 *
 * Queue-like families (ready, due, parked, runs) are written at one end and
 * consumed at the other, so the consumed end is a run of tombstones until
 * compaction. Two things keep that cheap: most rows live and die within a
 * generation and never reach the base, and every scan has a lower bound, which
 * each lane remembers (a seek without one was measured at 9 ms, with one at
 * 3 us).
 *
 * What is finished is filed under the hour in which it will be forgotten
 * (`done`, `past`, `index`, `logs`), so forgetting is one range deletion and
 * leaves nothing behind.
 *
 *
 * 5. Values (store/record.h)
 *
 * The first byte is the version of the record, then its fields in the order of
 * the list. A value is never empty: the base answers "empty" where it means "I
 * do not know" in one of its modes, and we want to see that.
 *
 *     meta/applied   rec_applied   index, and how many entries of it are unsure
 *     meta/format    rec_format    owner, version
 *     meta/start     rec_start     number of the last start, when it was
 *
 * The records of the engine are in engine/records.h.
 *
 *
 * 6. Changing it
 *
 *   - A released list of fields never changes; a new field is a new version
 *     (RECORD2), the program reads both and writes the newer one.
 *   - A released key layout never changes; another layout is another kind or
 *     another family.
 *   - Numbers of families, kinds, parts, states and change ops are given by
 *     hand and never used again for something else.
 *   - tests/golden/ keeps the bytes of every version; a line there is never
 *     edited.
 *   - What an older program could misread without noticing needs a new format
 *     number in the file `belfry`; older programs then refuse to start. A
 *     family that they do not know is refused, too. A start raises the number
 *     of data whose format we still read.
 */
#ifndef STORE_FORMAT_H
#define STORE_FORMAT_H

#endif
