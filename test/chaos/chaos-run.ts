import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations/index.js';
import { type Random, randomOf } from '../../src/random.js';
import { check } from './checker/check.js';
import { FAULTS } from './faults/faults.js';
import { Crew } from './nodes/crew.js';
import { MAX_ATTEMPTS } from './processes/process.protocol.js';
import { TAKE_ONE, TAKEN_TABLE } from './load/payloads.js';
import { loadClientLogs } from './record/client-log.js';
import { installRecord } from './record/record.js';
import type { ChaosOptions, ChaosResult } from './run.js';
import type { ChaosDatabase } from './server/chaos-server.js';
import { World } from './world.js';

/** The longest fault takes half a minute, and its nodes some more to start. */
const UNDONE_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 250;

/** All but dead letters. */
const LEFT = `SELECT to_json(d)::text AS line FROM delay_queue.delay d WHERE wake_at < 'infinity' AND repeat IS NULL LIMIT 10`;

/** All but one article never run out: what is paid for does not come back. */
const MORE_STOCK = `UPDATE sku SET stock = stock + 1000000, initial_stock = initial_stock + 1000000
  WHERE sku <> 'POT-IRON'`;

/** One run on one database. */
export class ChaosRun {
  readonly #odd: string[] = [];
  readonly #crew: Crew;
  readonly #world: World;
  /** Kinds of faults that come next, and those that are being done. */
  #left: string[] = [];
  readonly #under = new Set<string>();

  constructor(
    private readonly options: ChaosOptions,
    private readonly database: ChaosDatabase,
    private readonly folder: string,
  ) {
    const log = (line: string): void => options.log(`         ${line}`);
    this.#crew = new Crew(options, {
      databaseUrl: database.url,
      folder,
      onOdd: (what) => this.#tellOdd(what),
      onChange: () => this.#world.changed(),
      log,
    });
    this.#world = new World(database, this.#crew.slots, log, options.signal);
  }

  async run(): Promise<ChaosResult> {
    const { options, database } = this;
    await this.#prepare();
    await this.#crew.start();
    const endsAtMs = performance.now() + options.minutes * 60_000;

    await this.#sleep(options.calmMs);
    options.log('the calm is over');
    await this.#harm(endsAtMs);
    await this.#sleep(endsAtMs - performance.now());

    options.log('quiet: producers stop, everything is mended');
    await this.#crew.mend();
    await this.#crew.stop('producer');
    await this.#untilQuiet();
    await this.#crew.stop('worker');

    options.log('judging');
    await loadClientLogs(database.sql, this.folder);
    const judged = await check(database.sql, MAX_ATTEMPTS);
    const done = await database.sql(`SELECT FROM chaos.life WHERE ended = 'completed' LIMIT 1`);
    if (done.length === 0) this.#tellOdd('not one delay was completed: such a run shows nothing');
    return { ...judged, odd: this.#odd };
  }

  /** Tables of the library and of the shop, and the record that the run is judged by. */
  async #prepare(): Promise<void> {
    const { url, sql } = this.database;
    const source = new DataSource({ type: 'postgres', url, migrations });
    await source.initialize();
    await source.runMigrations().finally(() => source.destroy());
    await installRecord(sql);
    for (const statement of [TAKEN_TABLE, TAKE_ONE, MORE_STOCK]) await sql(statement);
  }

  /** Nobody is left then, however the run ended. */
  async close(): Promise<void> {
    this.#world.stop();
    await this.#crew.close();
  }

  /** Two faults at a time; the last ones are done to their end. */
  async #harm(endsAtMs: number): Promise<void> {
    const random = randomOf(this.options.seed).fork('faults');
    const isOver = (): boolean => performance.now() >= endsAtMs;
    const lanes = [1, 2].map((number) => this.#lane(random.fork(`lane ${number}`), isOver));
    // A fault that hangs is stopped in the middle; what it left is mended with all the rest.
    const hung = setTimeout(
      () => {
        this.#tellOdd(`the fault ${[...this.#under].join(', and the fault ')} hangs`);
        this.#world.stop();
      },
      Math.max(0, endsAtMs - performance.now()) + UNDONE_WITHIN_MS,
    );
    await Promise.all(lanes).finally(() => clearTimeout(hung));
  }

  /** All kinds come before one comes again. */
  async #lane(random: Random, isOver: () => boolean): Promise<void> {
    const { faults } = this.options;
    while (!isOver() && faults.length > 0) {
      if (this.#left.length === 0) this.#left = random.shuffled(faults);
      const kind = this.#left.pop() as string;
      this.#under.add(kind);
      try {
        await FAULTS.find((fault) => fault.kind === kind)?.run(this.#world, random);
      } catch (error) {
        // Stopped in the middle is not broken.
        const isStop = (error as Error).name === 'AbortError';
        if (!isStop) this.#tellOdd(`the fault ${kind} broke: ${inspect(error)}`);
      }
      this.#under.delete(kind);
      await this.database.sql('INSERT INTO chaos.fault (kind) VALUES ($1)', [kind]);
      if (!isOver()) await this.#world.sleep(random.integer(500, 2_000));
    }
  }

  /** Waits until nothing but dead letters and what recurs is left. */
  async #untilQuiet(): Promise<void> {
    const { quietWithinMs } = this.options;
    const giveUpAtMs = performance.now() + quietWithinMs;
    for (;;) {
      const left = await this.database.sql<{ line: string }>(LEFT);
      if (left.length === 0) return;
      if (performance.now() > giveUpAtMs) {
        const lines = left.map(({ line }) => line).join('\n');
        this.#tellOdd(`not quiet after ${quietWithinMs / 1_000} s; there is left:\n${lines}`);
        return;
      }
      await this.#sleep(LOOK_EVERY_MS);
    }
  }

  /** @throws AbortError when the run is stopped; one that only stops its faults goes on */
  async #sleep(ms: number): Promise<void> {
    await pause(Math.max(0, ms), undefined, { signal: this.options.signal });
  }

  #tellOdd(what: string): void {
    this.#odd.push(what);
    this.options.log(`! ${what}`);
  }
}
