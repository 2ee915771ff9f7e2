import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { randomOf } from '../../src/random.js';
import { check } from './checker/check.js';
import { FAULTS } from './faults/faults.js';
import { Lanes } from './lanes.js';
import { Crew } from './nodes/crew.js';
import type { ChaosOptions } from './options.js';
import { prepare } from './prepare.js';
import { MAX_ATTEMPTS } from './processes/process.protocol.js';
import { loadClientLogs } from './record/client-log.js';
import type { ChaosResult } from './run.js';
import type { ChaosDatabase } from './server/chaos-server.js';
import { World } from './world.js';

/** The longest fault takes half a minute, and its nodes some more to start. */
const UNDONE_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 250;

/** All but dead letters. */
const LEFT = `SELECT to_json(d)::text AS line FROM delay_queue.delay d WHERE wake_at < 'infinity' LIMIT 10`;

/** One run on one database. */
export class ChaosRun {
  readonly #odd: string[] = [];
  readonly #crew: Crew;
  readonly #world: World;

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
    await prepare(database);
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

  /** Nobody is left then, however the run ended. */
  async close(): Promise<void> {
    this.#world.stop();
    await this.#crew.close();
  }

  async #harm(endsAtMs: number): Promise<void> {
    const faults = FAULTS.filter(({ kind }) => this.options.faults.includes(kind));
    const random = randomOf(this.options.seed).fork('faults');
    const lanes = new Lanes(faults, this.#world, random, (kind, error) =>
      this.#tellOdd(`the fault ${kind} broke: ${inspect(error)}`),
    );
    // A fault that hangs is stopped in the middle; what it left is mended with all the rest.
    const hung = setTimeout(
      () => {
        this.#tellOdd(`the fault ${[...lanes.under].join(', and the fault ')} hangs`);
        this.#world.stop();
      },
      Math.max(0, endsAtMs - performance.now()) + UNDONE_WITHIN_MS,
    );
    try {
      await lanes.run(() => performance.now() >= endsAtMs);
    } finally {
      clearTimeout(hung);
    }
  }

  /** Waits until nothing but dead letters is left. */
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
