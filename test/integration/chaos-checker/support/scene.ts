import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type QueryResultRow } from 'pg';
import type { EntityManager } from 'typeorm';
import { DelayStore } from '../../../../src/delay-queue/store/delay.store.js';
import { check, type Verdict } from '../../../chaos/checker/check.js';
import type { ChaosPayload } from '../../../chaos/load/payloads.js';
import { ClientLog, loadClientLogs, type Verb } from '../../../chaos/record/client-log.js';
import { noteEffects } from '../../../chaos/record/effect.js';
import { installRecord } from '../../../chaos/record/record.js';
import { createTestDatabase, type TestDatabase } from '../../../support/database.js';
import { clientRunner, OtherNode } from '../../../support/other-node.js';

/** A delay that was scheduled in a scene. */
export interface Made {
  id: string;
  name: string;
  token: string;
  dueMs: number;
}

/** An attempt in a scene. */
export interface Claimed extends Made {
  node: string;
  epoch: number;
  attempt: number;
}

const own = ({ id, epoch }: Claimed) => ({ id: Number(id), epoch, latenessMs: 0 });

/** A record made by hand: the library's own statements, sent by sessions that play nodes and clients. */
export class Scene {
  readonly #sessions = new Map<string, Client>();
  readonly delays = new DelayStore('delay_queue', true, 'producer');

  static async open(): Promise<Scene> {
    const database = await createTestDatabase();
    const file = join(await mkdtemp(join(tmpdir(), 'chaos-scene-')), 'client');
    const scene = new Scene(database, file, new ClientLog(file, 'c'));
    await installRecord(scene.sql);
    return scene;
  }

  private constructor(
    private readonly database: TestDatabase,
    private readonly file: string,
    readonly log: ClientLog,
  ) {}

  /** A session of that name: `''` for an application, `delay-queue n` for the engine of node n. */
  async session(name = ''): Promise<Client> {
    let client = this.#sessions.get(name);
    if (client === undefined) {
      client = new Client({ connectionString: this.database.url, application_name: name });
      this.#sessions.set(name, client);
      await client.connect();
    }
    return client;
  }

  readonly sql = async <Row extends QueryResultRow>(
    text: string,
    parameters: unknown[] = [],
  ): Promise<Row[]> => (await (await this.session()).query<Row>(text, parameters)).rows;

  async node(name: string): Promise<OtherNode> {
    const runner = clientRunner(await this.session(`delay-queue ${name}`));
    const query = (sql: string, parameters: unknown[] = []) => runner.query(sql, parameters);
    return new OtherNode({ query: query as EntityManager['query'] }, name);
  }

  ask(verb: Verb, key: string | null, token: string | null = null, inTransaction = false): string {
    return this.log.invoke({ verb, name: 'chaos.plain', key, token, inTransaction });
  }

  /** What a client asks and is told; the row is written by the library's statement. */
  async schedule(
    payload: ChaosPayload,
    where: { name?: string; key?: string; afterMs?: number } = {},
  ) {
    const { name = 'chaos.plain', key = null } = where;
    const asked = { verb: 'schedule', name, key, token: payload.token } as const;
    const call = this.log.invoke({ ...asked, inTransaction: false });
    const made = await this.place(payload, where);
    this.log.ok(call, { verdict: 'scheduled', id: made.id, dueMs: made.dueMs });
    return made;
  }

  /** The library's statement alone: nobody's log knows of it. */
  async place(
    payload: ChaosPayload,
    { name = 'chaos.plain', key = null as string | null, afterMs = 0 } = {},
  ): Promise<Made> {
    const to = { kind: 'after' as const, ms: afterMs };
    const rest = { payload: JSON.stringify(payload), maxAttempts: null, onConflict: 'replace' };
    const [placed] = await this.delays.place(clientRunner(await this.session()), [
      { name, key, to, ...rest } as const as Parameters<DelayStore['place']>[1][number],
    ]);
    // Due is rounded up to a millisecond.
    await this.sql('SELECT pg_sleep(0.002)');
    return { id: String(placed!.id), name, token: payload.token, dueMs: placed!.dueMs };
  }

  async claim(made: Made, node = 'n1'): Promise<Claimed> {
    const { epoch, attempts } = await (await this.node(node)).claim(made.id);
    return { ...made, node, epoch, attempt: attempts };
  }

  /** A line of effect of that attempt. */
  async effect(of: Claimed, fenced = false): Promise<void> {
    const { id, name, attempt, token, node } = of;
    const done = { id, name, attempt, payload: { token } };
    await noteEffects(await this.session(), [done], { node, fenced });
  }

  async complete(of: Claimed): Promise<void> {
    await (await this.node(of.node)).store.complete([own(of)]);
  }

  /** From the claim to the acknowledgement, as it should be. */
  async run(made: Made): Promise<void> {
    const claimed = await this.claim(made);
    await this.effect(claimed);
    await this.complete(claimed);
  }

  /** A fenced attempt as it should be: effects and removal in one transaction of the application's. */
  async runFenced(made: Made, during?: (claimed: Claimed) => Promise<unknown>): Promise<void> {
    const claimed = await this.claim(made);
    await this.sql('BEGIN');
    await this.effect(claimed, true);
    await during?.(claimed);
    const { store } = await this.node('n1');
    await store.complete([own(claimed)], clientRunner(await this.session()));
    await this.sql('COMMIT');
  }

  /** What a process wrote last that was killed meanwhile: the beginning of a line. */
  tear(text: string): void {
    appendFileSync(this.file, text);
  }

  async judge(): Promise<Verdict[]> {
    await loadClientLogs(this.sql, [this.file]);
    return (await check(this.sql, { calmUntil: new Date(), maxAttempts: 10 })).verdicts;
  }

  async close(): Promise<void> {
    this.log.close();
    for (const session of this.#sessions.values()) await session.end();
    await rm(join(this.file, '..'), { recursive: true });
    await this.database.drop();
  }
}
