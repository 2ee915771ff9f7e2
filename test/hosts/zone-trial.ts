import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { inTime, until } from '../support/until.js';
import type { Host } from './hosts.js';

const WITHIN_MS = 60_000;

/** In turn, and then two days of both together. */
const DAYS_IN_TURN = 6;
const DAYS_TOGETHER = 2;

/** One process of the application, on one release of Node. */
class Node {
  readonly #child: ChildProcess;
  output = '';

  constructor([program = '', ...given]: string[], folder: string, url: string) {
    this.#child = spawn(program, given, {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (data: Buffer) => (this.output += data.toString()));
    }
  }

  async ready(): Promise<this> {
    const isReady = (output: string): boolean => {
      assert.equal(this.#child.exitCode, null, this.output);
      return output.includes('is ready');
    };
    await until(() => Promise.resolve(this.output), isReady, {
      what: 'ready',
      withinMs: WITHIN_MS,
    });
    return this;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.kill(signal);
    await inTime(ended, `the end of the application after ${signal}`);
  }
}

/** Releases of Node with different rules of a time zone, on one queue: each day comes once. */
export class ZoneTrial {
  readonly #database: Client;
  readonly #nodes: Node[] = [];
  #days = 0;

  constructor(
    private readonly host: Host & { turns: string[][] },
    private readonly folder: string,
    private readonly url: string,
  ) {
    this.#database = new Client({ connectionString: url });
  }

  async run(): Promise<void> {
    await this.#database.connect();
    try {
      await this.#database.query('CREATE TABLE fired (key text, due_at timestamptz, tz text)');
      const { turns } = this.host;
      for (let day = 0; day < DAYS_IN_TURN; day += 1) {
        const node = await this.#start(turns[day % turns.length]!);
        if (day > 0 && day % turns.length === turns.length - 1) await this.#haveMoved();
        await this.#passesDay();
        await node.end();
      }
      for (const command of turns) await this.#start(command);
      for (let day = 0; day < DAYS_TOGETHER; day += 1) await this.#passesDay();
      await this.#isExact();
    } finally {
      for (const node of this.#nodes) await node.end('SIGKILL');
      await this.#database.end();
    }
  }

  #start(command: string[]): Promise<Node> {
    const node = new Node([...command, 'dist/main.js'], this.folder, this.url);
    this.#nodes.push(node);
    return node.ready();
  }

  /** The newer rules have moved what the older ones had computed. */
  async #haveMoved(): Promise<void> {
    const still = await this.#database.query(
      `SELECT key, due_at FROM delay_queue.delay WHERE NOT move_log @> '[{"call": "timeZone"}]' OR move_log IS NULL`,
    );
    assert.deepEqual(still.rows, [], 'each is moved by the newer rules');
  }

  /** Each is looked at as if its instant had come. */
  async #passesDay(): Promise<void> {
    this.#days += 1;
    await this.#database.query(
      'UPDATE delay_queue.delay SET wake_at = clock_timestamp(), epoch = epoch + 1 WHERE leased_by IS NULL',
    );
    const behind = `SELECT d.key FROM delay_queue.delay d
      WHERE (SELECT count(*) FROM fired f WHERE f.key = d.key) < ${this.#days} OR d.leased_by IS NOT NULL`;
    await until(
      async () => (await this.#database.query(behind)).rows,
      (rows) => rows.length === 0,
      { what: `day ${this.#days}`, withinMs: WITHIN_MS, tell: (rows) => JSON.stringify(rows) },
    );
  }

  async #isExact(): Promise<void> {
    const { rows } = await this.#database.query<{ days: string[]; releases: number }>(
      `SELECT array_agg(to_char(due_at AT TIME ZONE 'UTC', 'DD') ORDER BY due_at) AS days,
              count(DISTINCT tz)::int AS releases FROM fired GROUP BY key`,
    );
    const days = Array.from({ length: this.#days }, (_, day) => String(20 + day));
    for (const row of rows) assert.deepEqual(row.days, days, 'each day comes once');
    assert.ok(
      rows.some(({ releases }) => releases > 1),
      'the releases have different zone data',
    );
    const output = this.#nodes.map((node) => node.output).join('\n');
    assert.match(
      output,
      /the time zone America\/Vancouver differs: at \S+ this process counts UTC/,
    );
  }
}
