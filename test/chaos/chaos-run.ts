import { setTimeout as pause } from 'node:timers/promises';
import { randomOf } from '../../src/random.js';
import { ChaosWorld } from './chaos-world.js';
import { check, type Figures, type Verdict } from './checker/check.js';
import type { Evidence } from './evidence.js';
import { FAULTS } from './faults/faults.js';
import { Lanes } from './lanes.js';
import { Crew } from './nodes/crew.js';
import { calmMsOf, type ChaosOptions } from './options.js';
import { prepare } from './prepare.js';
import { MAX_ATTEMPTS } from './processes/process.protocol.js';
import { Progress } from './progress.js';
import { untilQuiet } from './quiet.js';
import { loadClientLogs } from './record/client-logs.js';
import { noteFault } from './record/fault-log.js';
import type { Sql } from './record/sql.js';
import { HungError, within } from './within.js';
import type { ChaosServer } from './world.js';

export interface ChaosResult {
  verdicts: Verdict[];
  figures: Figures;
  /** What no fault explains: processes that end by themselves or do not stop, faults that fail. */
  odd: string[];
}

const STARTED_WITHIN_MS = 150_000;
/** The longest fault takes half a minute, and its nodes some more to start. */
const UNDONE_WITHIN_MS = 120_000;
const STOPPED_WITHIN_MS = 100_000;
const JUDGED_WITHIN_MS = 900_000;

/** One run on one database. */
export class ChaosRun {
  readonly #odd: string[] = [];
  readonly #sql: Sql;
  readonly #crew: Crew;
  readonly #world: ChaosWorld;
  readonly #progress: Progress;

  constructor(
    private readonly options: ChaosOptions,
    private readonly server: ChaosServer,
    private readonly evidence: Evidence,
  ) {
    const { log, signal } = options;
    this.#sql = (text, parameters) => server.sql(text, parameters);
    this.#crew = new Crew(options, {
      serverUrl: server.url,
      folder: evidence.folder,
      onOdd: (what) => this.#tellOdd(what),
      onEnd: (nodeName, output) => evidence.printed(nodeName, output),
      onChange: () => this.#world.changed(),
    });
    this.#world = new ChaosWorld(
      server,
      this.#crew.slots,
      (line) => log(`         ${line}`),
      signal,
    );
    this.#progress = new Progress(this.#crew, server, log);
  }

  async run(): Promise<ChaosResult> {
    const { options } = this;
    await prepare(this.server);
    await within(STARTED_WITHIN_MS, () => 'the start of the processes', this.#crew.start());
    this.#progress.begin();
    const endsAtMs = performance.now() + options.minutes * 60_000;

    await this.#sleep(calmMsOf(options));
    const calmUntil = await this.#now();
    options.log(`         the calm is over`);
    this.#crew.roughen();
    await this.#harm(endsAtMs);
    await this.#sleep(endsAtMs - performance.now());

    options.log('         quiet: producers stop, everything is mended');
    await this.#quiet();
    this.#progress.stop();
    await this.#stop('worker');
    const judged = await this.#judge(calmUntil);
    const { completed } = judged.figures.delays;
    if (completed === 0) this.#odd.push('not one delay was completed: such a run shows nothing');
    return { ...judged, odd: this.#odd };
  }

  /** Nobody is left then, however the run ended. */
  async close(): Promise<void> {
    this.#progress.stop();
    this.#world.stop();
    await this.#crew.close();
  }

  async #harm(endsAtMs: number): Promise<void> {
    const faults = FAULTS.filter(({ kind }) => this.options.faults.includes(kind));
    const random = randomOf(this.options.seed).fork('faults');
    const lanes = new Lanes(faults, this.#world, random, {
      onFault: async (kind, beganAt, endedAt) => {
        this.#progress.fault();
        await noteFault(this.#sql, { kind, beganAt, endedAt });
      },
      onBroken: (kind, error) => this.#tellOdd(`the fault ${kind} broke: ${textOf(error)}`),
    });
    const leftMs = Math.max(0, endsAtMs - performance.now());
    const harming = lanes.run(() => performance.now() >= endsAtMs);
    await this.#orOdd(
      within(
        leftMs + UNDONE_WITHIN_MS,
        () => `the fault ${[...lanes.under].join(', and the fault ')}`,
        harming,
      ),
    );
    // A fault that hangs is stopped in the middle; what it left is mended with all the rest.
    if (lanes.under.size > 0) this.#world.stop();
  }

  async #quiet(): Promise<void> {
    const { options, server } = this;
    await within(STARTED_WITHIN_MS, () => 'mending the processes', this.#crew.mend());
    await this.#stop('producer');
    const left = await untilQuiet(server, options.quietWithinMs, (ms) => this.#sleep(ms));
    if (left.length === 0) return;
    const seconds = options.quietWithinMs / 1_000;
    this.#tellOdd(`not quiet after ${seconds} s; there is left:\n${left.join('\n')}`);
  }

  #stop(role: 'worker' | 'producer'): Promise<void> {
    return this.#orOdd(
      within(STOPPED_WITHIN_MS, () => `the end of a ${role}`, this.#crew.stop(role)),
    );
  }

  async #judge(calmUntil: Date): Promise<Omit<ChaosResult, 'odd'>> {
    this.options.log('         judging');
    const judged = async (): Promise<Omit<ChaosResult, 'odd'>> => {
      await loadClientLogs(this.#sql, await this.evidence.clientLogs());
      return check(this.#sql, { calmUntil, maxAttempts: MAX_ATTEMPTS });
    };
    return within(JUDGED_WITHIN_MS, () => 'the verdict', judged());
  }

  /** What hangs is written down, and the run goes on to its end. */
  async #orOdd(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof HungError)) throw error;
      this.#tellOdd(error.message);
    }
  }

  /** @throws AbortError when the run is stopped; one that only stops its faults goes on */
  async #sleep(ms: number): Promise<void> {
    const { signal } = this.options;
    await pause(Math.max(0, ms), undefined, signal && { signal });
  }

  async #now(): Promise<Date> {
    const [row] = await this.#sql<{ now: Date }>('SELECT clock_timestamp() AS now');
    if (row === undefined) throw new Error('the database does not know the time');
    return row.now;
  }

  #tellOdd(what: string): void {
    this.#odd.push(what);
    this.options.log(`!        ${what}`);
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
