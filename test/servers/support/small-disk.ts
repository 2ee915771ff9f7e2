import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { chown, mkdir, open, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operatingUser } from '../../../src/embedded-postgres/operating-user.js';
import { run } from '../../../src/embedded-postgres/program.js';

const NO_SPACE = 'ENOSPC';
/** Large, so that the disk is full before what is scheduled is due: the last one is written as far as there is room. */
const PIECE = Buffer.alloc(1_048_576, 'x');

/** A file system of a few megabytes in memory, which can be filled to the last page. */
export class SmallDisk {
  /** Only root may mount, and not in every container. */
  static isPossible(): boolean {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
    const folder = mkdtempSync(join(tmpdir(), 'delay-queue-disk-'));
    const mounted = spawnSync('mount', mountArgs(folder, 1), { stdio: 'ignore' }).status === 0;
    if (mounted) spawnSync('umount', [folder], { stdio: 'ignore' });
    rmdirSync(folder);
    return mounted;
  }

  static async mount(megabytes: number): Promise<SmallDisk> {
    const root = mkdtempSync(join(tmpdir(), 'delay-queue-disk-'));
    await run('mount', mountArgs(root, megabytes), undefined);
    const disk = new SmallDisk(root);
    await mkdir(disk.tablespace, { mode: 0o700 });
    const user = await operatingUser('');
    if (user) await chown(disk.tablespace, user.uid, user.gid);
    return disk;
  }

  private constructor(private readonly root: string) {}

  /** An empty folder that belongs to the user who runs Postgres. */
  get tablespace(): string {
    return join(this.root, 'tablespace');
  }

  /** Takes all room that is left. */
  async fill(): Promise<void> {
    const file = await open(this.#ballast, 'a');
    try {
      for (;;) await file.write(PIECE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== NO_SPACE) throw error;
    } finally {
      await file.close();
    }
  }

  async makeRoom(): Promise<void> {
    await rm(this.#ballast);
  }

  /** Once nobody has a file open on it. */
  async unmount(): Promise<void> {
    await run('umount', [this.root], undefined);
    await rmdir(this.root);
  }

  get #ballast(): string {
    return join(this.root, 'ballast');
  }
}

// Root's folder, others may pass: Postgres runs as somebody else.
const mountArgs = (folder: string, megabytes: number): string[] => [
  '-t',
  'tmpfs',
  '-o',
  `size=${megabytes}m,mode=0711`,
  'tmpfs',
  folder,
];
