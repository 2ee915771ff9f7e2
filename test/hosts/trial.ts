import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { createInterface } from 'node:readline';
import { Client, type QueryResultRow } from 'pg';
import { inTime, until } from '../support/until.js';
import type { Host } from './hosts.js';

const PLACED = 20;
const PAID = 5;
const HELD = 4;

/** When unpaid orders are closed: most soon, those that are paid long after that. */
const [SOON_MS, LATER_MS] = [400, 600_000];

/** Of orders whose close takes long enough to be met by a signal. */
const HELD_MS = 1_500;

/** Some loads, as the application has them once a second. */
const IDLE_MS = 5_000;

/** A lease of three seconds is over long before. */
const WITHIN_MS = 60_000;

const TABLES = `
  CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL);
  CREATE TABLE note (id text NOT NULL, what text NOT NULL, trace text NOT NULL)`;

const DRAINED = `SELECT FROM note WHERE id LIKE 'drained%' AND what = 'closed'`;

/** A process of the application, and what it answers. */
class Application {
  #port: Promise<number>;
  readonly #child: ChildProcess;
  output = '';

  constructor({ command, environment }: Host, folder: string, url: string) {
    const [program = '', ...given] = command;
    const child = spawn(program, given, {
      cwd: folder,
      env: { ...process.env, ...environment, DATABASE_URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.on('data', (data: Buffer) => (this.output += data.toString()));
    this.#port = new Promise((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => {
        this.output += `${line}\n`;
        const [, port] = /^listens on (\d+)$/.exec(line) ?? [];
        if (port !== undefined) resolve(Number(port));
      });
      child.on('error', reject);
      child.on('close', () => reject(new Error(`the application has ended:\n${this.output}`)));
    });
    // The next call gets the error, and another host can be tried.
    this.#port.catch(() => {});
  }

  async call<Answer>(...path: (string | number)[]): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${await this.#port}/${path.join('/')}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path.join('/')}: ${text}\n${this.output}`);
    return JSON.parse(text) as Answer;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.kill(signal);
    await inTime(ended, `the end of the application after ${signal}`);
  }
}

type Seen = Record<string, number>;

/** With the request that asked. */
const oneMore = (seen: Seen): Seen =>
  seen['transactions'] === undefined ? seen : { ...seen, transactions: seen['transactions'] + 1 };

type Verdict = { verdict: string; paid?: number };

/** What an application must do wherever it runs, judged by what Postgres has committed. */
export class Trial {
  #application: Application;
  readonly #database: Client;

  constructor(
    private readonly host: Host,
    private readonly folder: string,
    private readonly url: string,
  ) {
    this.#database = new Client({ connectionString: url });
    this.#application = this.#start();
  }

  async run(): Promise<void> {
    await this.#database.connect();
    const first = this.#application;
    try {
      await this.#database.query(TABLES);
      await this.#placesAndPays();
      await this.#isIdle();
      await this.#isKilled();
      await this.#drains();
      await this.#isExact();
      if (this.host.joins) await this.#joins();
      // Of the first application, which has answered: the last one may not have said anything yet.
      if (this.host.says) assert.match(first.output, this.host.says);
    } finally {
      await this.#application.end('SIGKILL');
      await this.#database.end();
    }
  }

  #start(): Application {
    return new Application(this.host, this.folder, this.url);
  }

  async #placesAndPays(): Promise<void> {
    for (let id = 0; id < PLACED; id += 1) {
      const isPaid = id < PAID;
      const afterMs = isPaid ? LATER_MS : SOON_MS;
      const { verdict } = await this.#application.call<Verdict>('place', id, afterMs, 0);
      assert.equal(verdict, 'scheduled');
      if (!isPaid) continue;
      const paid = await this.#application.call<Verdict>('pay', id);
      assert.deepEqual(paid, { verdict: 'cancelled', paid: 1 });
    }
    await this.#application.call('forge', 'ghost');
    await this.#until(`SELECT FROM note WHERE what = 'mailed'`, PLACED);
    await this.#until(`SELECT FROM orders WHERE status = 'CLOSED'`, PLACED - PAID);
    const dead = `SELECT FROM delay_queue.delay WHERE key = 'ghost' AND wake_at = 'infinity' AND last_error ILIKE '%guard%'`;
    await this.#until(dead, 1);
    assert.equal((await this.#application.call<Verdict>('pay', PAID)).verdict, 'absent');
  }

  /** An agent that counts gets nothing from an engine that has nothing to do. */
  async #isIdle(): Promise<void> {
    let before = await this.#seen();
    let after = await this.#seen();
    // A request counts once its answer has left: on a busy machine, after the next one has come.
    for (let looks = 0; looks < 10 && !isDeepStrictEqual(after, oneMore(before)); looks += 1) {
      [before, after] = [after, await this.#seen()];
    }
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    assert.deepEqual(await this.#seen(), oneMore(after));
  }

  #seen(): Promise<Seen> {
    return this.#application.call<Seen>('seen');
  }

  async #isKilled(): Promise<void> {
    await this.#hold('killed');
    await this.#application.end('SIGKILL');
    this.#application = this.#start();
    await this.#until(`SELECT FROM note WHERE id LIKE 'killed%' AND what = 'closed'`, HELD);
  }

  async #drains(): Promise<void> {
    await this.#hold('drained');
    await this.#application.end('SIGTERM');
    const closed = await this.#rows(DRAINED);
    assert.ok(closed.length > 0, 'what runs at SIGTERM ends');
    const spent = `SELECT FROM delay_queue.delay WHERE key LIKE 'drained%' AND (leased_by IS NOT NULL OR attempts > 0)`;
    assert.deepEqual(await this.#rows(spent), [], 'what waits then is given back');
    this.#application = this.#start();
    await this.#until(DRAINED, HELD);
  }

  async #isExact(): Promise<void> {
    const wrong = await this.#rows(`
      SELECT o.id, o.status, n.what, count(*)::int AS times FROM orders o LEFT JOIN note n USING (id)
      GROUP BY o.id, o.status, n.what
      HAVING count(*) > 1 AND n.what <> 'mailed' OR n.what = 'late' OR (n.what = 'closed') AND o.status <> 'CLOSED' OR o.status = 'UNPAID'`);
    assert.deepEqual(wrong, [], 'each order is closed or paid, once');
  }

  async #joins(): Promise<void> {
    const apart = await this.#rows(`
      SELECT p.id, p.trace AS placed, n.what, n.trace FROM note p JOIN note n USING (id)
      WHERE p.what = 'placed' AND (p.trace = 'none' OR n.trace <> p.trace)`);
    assert.deepEqual(apart, [], 'a delay runs in the trace of its request');
  }

  /** Closes that have begun and take a while. */
  async #hold(prefix: string): Promise<void> {
    for (let n = 0; n < HELD; n += 1) {
      await this.#application.call('place', `${prefix}${n}`, SOON_MS, HELD_MS);
    }
    const held = `SELECT FROM delay_queue.delay WHERE key LIKE '${prefix}%' AND leased_by IS NOT NULL AND name = 'order.close'`;
    await this.#until(held, HELD);
  }

  async #until(text: string, count: number): Promise<void> {
    const isThere = (rows: unknown[]): boolean => rows.length === count;
    await until(() => this.#rows(text), isThere, {
      what: `${count} of ${text}`,
      withinMs: WITHIN_MS,
      tell: (rows) => String(rows.length),
    });
  }

  async #rows<Row extends QueryResultRow>(text: string): Promise<Row[]> {
    return (await this.#database.query<Row>(text)).rows;
  }
}
