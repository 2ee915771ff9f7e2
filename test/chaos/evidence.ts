import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isClientLog } from './nodes/crew.js';
import type { ChaosServer } from './world.js';

/** What a person wants to read who asks why. */
const TABLES = ['step', 'life', 'effect', 'client', 'fault'] as const;

const PAGE = 5_000;

/** The folder of a run: its clients' logs, and what its processes printed. */
export class Evidence {
  readonly #outputs = new Map<string, string>();

  static async open(): Promise<Evidence> {
    return new Evidence(await mkdtemp(join(tmpdir(), 'delay-queue-chaos-run-')));
  }

  private constructor(readonly folder: string) {}

  printed(nodeName: string, output: string): void {
    if (output !== '') this.#outputs.set(nodeName, output);
  }

  async clientLogs(): Promise<string[]> {
    const files = await readdir(this.folder);
    return files.filter(isClientLog).map((file) => join(this.folder, file));
  }

  /** For a person who wants to know how it came to this. The database itself does not stay. */
  async keep(server: ChaosServer): Promise<void> {
    for (const [nodeName, output] of this.#outputs) {
      await writeFile(join(this.folder, `${nodeName}.out`), output);
    }
    for (const table of TABLES) {
      const file = createWriteStream(join(this.folder, `${table}.json-lines`));
      await pipeline(Readable.from(linesOf(server, table)), file);
    }
  }

  async discard(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function* linesOf(
  server: ChaosServer,
  table: (typeof TABLES)[number],
): AsyncGenerator<string> {
  for (let offset = 0; ; offset += PAGE) {
    const rows = await server.sql<{ line: string }>(
      `SELECT to_json(t)::text AS line FROM chaos.${table} t ORDER BY ctid LIMIT ${PAGE} OFFSET $1`,
      [offset],
    );
    for (const { line } of rows) yield `${line}\n`;
    if (rows.length < PAGE) return;
  }
}
