import { quoted } from '../delay/printable.js';
import type { DelayName } from '../delay/delay.js';
import { DelayShutdownError } from '../delay/delay.errors.js';
import type { RunNowResult } from '../delay/verdicts.js';
import type { ManualRuns } from '../runtime/manual-runs.js';
import { LOADS_MISSED_MAX } from '../store/sql/nodes/presence.sql.js';
import type { DelayRun } from './delay-run.js';
import { RunLog } from './run-log.js';
import type { Tested } from './tested.js';
import { DelayTestingError } from './testing.error.js';
import { type DueRow, type DueText, TravelStore } from './travel.store.js';

/** Nodes of which a call of `DelayTesting` is under way. */
const busy = new WeakSet<ManualRuns>();

/** Lets time pass on a node that runs nothing by itself, and runs what is due. */
export class TimeTravel {
  readonly #store: TravelStore;

  constructor(private readonly tested: Tested) {
    this.#store = new TravelStore(tested.options.installation);
  }

  /** By that much. */
  advance(ms: number): Promise<DelayRun[]> {
    return this.#standing((manual, log) => this.#advance(manual, log, log.fromMs + ms));
  }

  /**
   * Up to that instant.
   * @throws DelayTestingError when that has gone by
   */
  advanceTo(atMs: number): Promise<DelayRun[]> {
    return this.#standing((manual, log) => {
      if (atMs < log.fromMs) {
        throw new DelayTestingError(
          `it is ${isoOf(log.fromMs)} already, and time goes forward: ${isoOf(atMs)} has gone by. ` +
            'clear({ now }) begins anew, at any instant',
        );
      }
      return this.#advance(manual, log, atMs);
    });
  }

  /** All that is due together, until nothing is. */
  drain(): Promise<DelayRun[]> {
    return this.#standing(async (manual, log) => {
      do await this.#refuseOthers(manual);
      while (await this.#run('all', manual, log));
      return log.runs;
    });
  }

  /** @param tellOthers what there is of that name, for the message of one that does not wait */
  fire<N extends DelayName>(name: N, key: string, tellOthers: () => Promise<string>) {
    return this.#standing(async (manual, log): Promise<DelayRun<N>> => {
      if (this.tested.registry.get(name) === undefined) {
        throw new DelayTestingError(
          `this application has no handler of ${name}; it has ${this.#names.join(', ') || 'none'}`,
        );
      }
      await this.#refuseOthers(manual);
      const [due] = await this.tested.producer.many.change<RunNowResult['verdict']>(
        'runNow',
        [{ name, key }],
        {},
      );
      if (due?.verdict === undefined || due.verdict === 'absent' || due.verdict === 'running') {
        const why = due?.verdict === 'running' ? 'runs already' : 'does not wait';
        throw new DelayTestingError(`${name} of ${quoted(key)} ${why}: ${await tellOthers()}`);
      }
      await this.#run(Number(due.id), manual, log);
      const [run] = log.runs;
      if (run !== undefined) return run as DelayRun<N>;
      throw new DelayTestingError(
        `${name} of ${quoted(key)} did not begin: it is paused, a limit holds it back, the pool had no connection for it, or it is gone`,
      );
    });
  }

  /**
   * Removes all there is. What is declared begins anew.
   * @param atMs where the clock stands then; undefined: it is the database's
   */
  clear(atMs: number | undefined): Promise<void> {
    return this.#alone(async (manual) => {
      await this.#refuseOthers(manual);
      await manual.clear(atMs);
    });
  }

  /** @throws DelayTestingError before the application has started */
  follow(follower: (nowMs: number) => void): () => void {
    return this.#manual.clock.follow(follower);
  }

  /** Milliseconds since 1970 on the clock of the test. */
  nowMs(): number {
    const { manual } = this.tested.engine;
    return manual === undefined ? Date.now() : manual.clock.nowMs();
  }

  /** From one due time to the next, as long as the time reaches. */
  async #advance(manual: ManualRuns, log: RunLog, untilMs: number): Promise<DelayRun[]> {
    for (;;) {
      await this.#refuseOthers(manual);
      const nowMs = manual.clock.nowMs();
      const dueMs = await this.#store.nextMs(manual.runner, this.#names, log.held.at(nowMs));
      const nextMs = Math.max(nowMs, Math.min(dueMs, log.held.nextMs));
      if (nextMs > nowMs) await manual.clock.stand(Math.min(nextMs, untilMs));
      if (nextMs > untilMs) return log.runs;
      await this.#run('first', manual, log);
    }
  }

  get #manual(): ManualRuns {
    const { manual } = this.tested.engine;
    if (manual !== undefined) return manual;
    throw new DelayTestingError('the application has not started: await app.init() before');
  }

  get #names(): string[] {
    return this.tested.registry.names();
  }

  /** @returns whether there was anything */
  async #run(which: 'first' | 'all' | number, manual: ManualRuns, log: RunLog): Promise<boolean> {
    const held = log.held.at(manual.clock.nowMs());
    const due = await this.#store.due(manual.runner, this.#names, which, held);
    const rows = await Promise.all(due.map((row) => this.#given(row)));
    await log.of(rows, manual.clock.nowMs(), () => manual.run(rows));
    return rows.length > 0;
  }

  /** What cannot be decoded fails its attempt, and its run tells why. */
  async #given({ text, ...row }: DueText): Promise<DueRow> {
    try {
      return { ...row, payload: await this.tested.options.payloads.given(text, row) };
    } catch {
      return { ...row, payload: undefined };
    }
  }

  /**
   * The clock stands while handlers run: at whole milliseconds, so that what is due at one instant begins then, and costs no
   * time. Behind it the clock goes on, unless the test has set it.
   */
  #standing<Result>(work: (manual: ManualRuns, log: RunLog) => Promise<Result>): Promise<Result> {
    return this.#alone(async (manual) => {
      const { clock } = manual;
      await clock.read();
      const fromMs = Math.ceil(clock.nowMs());
      await clock.stand(fromMs);
      try {
        await manual.placeReruns();
        return await work(manual, new RunLog(this.tested.events, fromMs));
      } finally {
        if (!clock.isSet && !manual.isOver) await clock.flow();
      }
    });
  }

  /** One call at a time: two would take each other's time, and one in a handler would wait for itself. */
  async #alone<Result>(work: (manual: ManualRuns) => Promise<Result>): Promise<Result> {
    const manual = this.#manual;
    if (manual.isOver) throw new DelayShutdownError();
    if (busy.has(manual)) {
      throw new DelayTestingError(
        'another call of DelayTesting is under way: await that first; a handler can make none',
      );
    }
    busy.add(manual);
    try {
      return await work(manual);
    } finally {
      busy.delete(manual);
    }
  }

  /** Before each step: they may start at any time. */
  async #refuseOthers({ runner }: ManualRuns): Promise<void> {
    const { schema, nodeName, loadEveryMs } = this.tested.options;
    const aliveMs = loadEveryMs * LOADS_MISSED_MAX;
    const live = await this.#store.liveNodes(runner, aliveMs);
    const others = live.filter((id) => id !== nodeName);
    if (others.length === 0) return;
    throw new DelayTestingError(
      `other nodes serve the schema ${schema}, and would run what is moved: ${others.slice(0, 5).join(', ')}. ` +
        'Give each test file a database or a schema of its own, and close each application; one that was killed ' +
        `counts for up to ${aliveMs / 1_000} s`,
    );
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString();
