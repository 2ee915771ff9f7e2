import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type QueryResultRow } from 'pg';
import { DelayStore } from '../../../../src/delay-queue/store/delay.store.js';
import { AttemptStore } from '../../../../src/delay-queue/store/attempt.store.js';
import { check, type Figures, type Verdict } from '../../../chaos/checker/check.js';
import { ClientLog } from '../../../chaos/record/client-log.js';
import { loadClientLogs } from '../../../chaos/record/client-logs.js';
import type { ChaosPayload } from '../../../chaos/record/client-line.js';
import { noteEffect } from '../../../chaos/record/effect.js';
import { installRecord } from '../../../chaos/record/record.js';
import { createTestDatabase, type TestDatabase } from '../../../support/database.js';
import { clientRunner } from '../../../support/other-node.js';

const LEASE_MS = 60_000;
const CLAIMED_WITHIN_MS = 10_000;

/** Where and when a delay waits. */
interface Slot {
  name?: string;
  key?: string | null;
  afterMs?: number;
}

/** A delay that was scheduled in a scene. */
export interface Made {
  id: string;
  name: string;
  token: string;
  epoch: number;
  call: string;
}

/** An attempt in a scene. */
export interface Claimed extends Made {
  node: string;
  attempt: number;
}

/** A record made by hand: the library's own statements, sent by sessions that play nodes and clients. */
export class Scene {
  readonly #sessions = new Map<string, Client>();
  #tokens = 0;

  static async open(): Promise<Scene> {
    const database = await createTestDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'chaos-scene-'));
    const scene = new Scene(database, folder, ClientLog.open(join(folder, 'client'), 'c'));
    await installRecord(scene.sql);
    return scene;
  }

  private constructor(
    private readonly database: TestDatabase,
    private readonly folder: string,
    readonly log: ClientLog,
  ) {}

  /** A session of that name: `''` for an application, `delay-queue n` for the engine of node n. */
  async session(name: string): Promise<Client> {
    let client = this.#sessions.get(name);
    if (client === undefined) {
      client = new Client({ connectionString: this.database.url, application_name: name });
      this.#sessions.set(name, client);
      await client.connect();
    }
    return client;
  }

  engine(node: string): Promise<Client> {
    return this.session(`delay-queue ${node}`);
  }

  readonly sql = async <Row extends QueryResultRow>(
    text: string,
    parameters: unknown[] = [],
  ): Promise<Row[]> => (await (await this.session('')).query<Row>(text, parameters)).rows;

  /** A write that no statement of the library makes, by a session of that name; `$1` is the id. */
  async write(session: string, text: string, id: string): Promise<void> {
    const { rowCount } = await (await this.session(session)).query(text, [id]);
    if (rowCount !== 1) throw new Error(`nothing was written to delay ${id}`);
  }

  async work(node: string): Promise<AttemptStore> {
    return new AttemptStore(clientRunner(await this.engine(node)), 'delay_queue', true, node);
  }

  /** What a client asks and is told; the row is written by the library's statement. */
  async schedule(how: Partial<ChaosPayload> & Slot): Promise<Made> {
    const { name = 'chaos.plain', key = null, afterMs = 0, ...rest } = how;
    const payload: ChaosPayload = { token: `t${(this.#tokens += 1)}`, ...rest };
    const { token } = payload;
    const call = this.log.invoke({ verb: 'schedule', name, key, token, inTransaction: false });
    const made = await this.place(payload, { name, key, afterMs });
    this.log.ok(call, { verdict: made.verdict, id: made.id, dueMs: made.dueMs });
    return { ...made, call };
  }

  /** The library's statement alone: nobody's log knows of it. */
  async place(payload: ChaosPayload, { name = 'chaos.plain', key = null, afterMs = 0 }: Slot = {}) {
    const [placed] = await this.clients().place(clientRunner(await this.session('')), [
      {
        name,
        key,
        payload: JSON.stringify(payload),
        to: { kind: 'after', ms: afterMs },
        maxAttempts: null,
        onConflict: 'replace',
      },
    ]);
    if (placed === undefined) throw new Error('nothing was placed');
    const { verdict, dueMs } = placed;
    const made = { id: String(placed.id), name, token: payload.token, epoch: placed.epoch ?? 0 };
    return { ...made, call: '', verdict, dueMs };
  }

  /** The statements of clients, and of handlers that run on that node. */
  clients(node = 'producer'): DelayStore {
    return new DelayStore('delay_queue', true, node);
  }

  /** Waits until its wake has come. */
  async claim(made: Made, node: string, leaseMs = LEASE_MS): Promise<Claimed> {
    const store = await this.work(node);
    const item = { id: Number(made.id), epoch: made.epoch, leaseMs, maxAttempts: 5 };
    const { epoch, attempts } = await claimable(made, async () => (await store.claim([item]))[0]);
    return { ...made, node, epoch, attempt: attempts };
  }

  /** A line of effect, in a transaction of its own or in that of the session. */
  async effect(of: Claimed, { fenced = false, node = of.node, session = '' } = {}): Promise<void> {
    const delay = { id: of.id, name: of.name, attempt: of.attempt, payload: { token: of.token } };
    await noteEffect(await this.session(session), delay, { node, fenced });
  }

  async complete(of: Claimed): Promise<void> {
    await (await this.work(of.node)).complete([{ ...idOf(of), latenessMs: 0 }]);
  }

  async settle(of: Claimed, waitMs: number | null): Promise<Made> {
    const ending = { waitMs, refund: 0 as const, error: null, movesDue: false };
    await (await this.work(of.node)).retry([{ ...idOf(of), ...ending }]);
    return { ...of, epoch: of.epoch + 1 };
  }

  /** From the claim to the acknowledgement, as it should be. */
  async run(made: Made, node = 'n1'): Promise<void> {
    const claimed = await this.claim(made, node);
    await this.effect(claimed);
    await this.complete(claimed);
  }

  /** A fenced attempt as it should be: effect and removal in one transaction of the application's. */
  async runFenced(made: Made, node = 'n1', between: () => Promise<unknown> = async () => {}) {
    const claimed = await this.claim(made, node);
    await this.sql('BEGIN');
    await this.effect(claimed, { fenced: true });
    await between();
    const store = await this.work(node);
    const app = clientRunner(await this.session(''));
    await store.complete([{ ...idOf(claimed), latenessMs: 0 }], app);
    await this.sql('COMMIT');
  }

  /** What a process wrote last that was killed meanwhile: the beginning of a line. */
  tear(text: string): void {
    appendFileSync(join(this.folder, 'client'), text);
  }

  async judge(): Promise<{ verdicts: Verdict[]; figures: Figures }> {
    await loadClientLogs(this.sql, [join(this.folder, 'client')]);
    return check(this.sql, { calmUntil: new Date(), maxAttempts: 5 });
  }

  async close(): Promise<void> {
    this.log.close();
    for (const session of this.#sessions.values()) await session.end();
    await rm(this.folder, { recursive: true });
    await this.database.drop();
  }
}

async function claimable<Row>(of: Made, claim: () => Promise<Row | undefined>): Promise<Row> {
  const giveUpAtMs = performance.now() + CLAIMED_WITHIN_MS;
  for (;;) {
    const row = await claim();
    if (row !== undefined) return row;
    if (performance.now() > giveUpAtMs) throw new Error(`delay ${of.id} is not to be claimed`);
    await pause(1);
  }
}

const idOf = ({ id, epoch }: Claimed): { id: number; epoch: number } => ({ id: Number(id), epoch });
