import { randomBytes } from 'node:crypto';
import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux keeps what lies here in memory. */
const IN_MEMORY = '/dev/shm';

/** Some times of what Postgres keeps of its WAL (`max_wal_size`, 1 GB); the databases are small beside it. */
const ROOM_BYTES = 4 * 1_024 ** 3;

/**
 * A path for the files of a server that goes with the tests: in memory where there is plenty of it, else in the
 * temporary folder. A database is some 300 files, and each test clones one: on a disk's file system that took
 * up to ten times the processor's time.
 */
export function serverFolder(prefix: string): string {
  return join(hasRoom() ? IN_MEMORY : tmpdir(), `${prefix}-${randomBytes(5).toString('hex')}`);
}

function hasRoom(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    // What a container may take counts, not what the machine has.
    return bavail * bsize >= ROOM_BYTES && process.availableMemory() >= 2 * ROOM_BYTES;
  } catch {
    return false;
  }
}
