import { writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sql } from './record/sql.js';

/** What a person wants to read who asks why. */
const TABLES = ['step', 'life', 'effect', 'client', 'fault'];

/** The folder of a run: its clients' logs, and what its processes printed. */
export class Evidence {
  static async open(): Promise<Evidence> {
    return new Evidence(await mkdtemp(join(tmpdir(), 'delay-queue-chaos-run-')));
  }

  private constructor(readonly folder: string) {}

  printed(nodeName: string, output: string): void {
    if (output !== '') writeFileSync(join(this.folder, `${nodeName}.out`), output);
  }

  async clientLogs(): Promise<string[]> {
    const files = await readdir(this.folder);
    return files.filter((file) => file.endsWith('.jsonl')).map((file) => join(this.folder, file));
  }

  /** The database itself does not stay. */
  async addRecord(sql: Sql): Promise<void> {
    for (const table of TABLES) {
      const rows = await sql<{ line: string }>(
        `SELECT to_json(t)::text AS line FROM chaos.${table} t ORDER BY ctid`,
      );
      const lines = rows.map(({ line }) => `${line}\n`);
      writeFileSync(join(this.folder, `${table}.json-lines`), lines.join(''));
    }
  }

  async discard(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
