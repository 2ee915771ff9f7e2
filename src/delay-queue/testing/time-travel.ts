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

/** What all of `DelayTesting` know of one node. */
interface Travelled {
  /** A call is under way. */
  isBusy: boolean;
  ms: number;
}

const travelled = new WeakMap<ManualRuns, Travelled>();

function travelledOf(manual: ManualRuns): Travelled {
  const known = travelled.get(manual) ?? { isBusy: false, ms: 0 };
  travelled.set(manual, known);
  return known;
}

/** Lets time pass on a node that runs nothing by itself, and runs what is due. */
export class TimeTravel {
  readonly #store: TravelStore;

  constructor(private readonly tested: Tested) {
    this.#store = new TravelStore(tested.options.schema);
  }

  /** From one due time to the next, as long as the time reaches. */
  advance(ms: number): Promise<DelayRun[]> {
    return this.#alone(async (manual, log) => {
      for (let leftMs = ms; ;) {
        await this.#refuseOthers(manual);
        const held = log.held.at(log.travelledMs);
        const mostMs = Math.min(leftMs, log.held.nextMs - log.travelledMs);
        const step = await this.#store.travel(manual.runner, this.#names, mostMs, held);
        leftMs -= step.ms;
        log.travelledMs += step.ms;
        travelledOf(manual).ms += step.ms;
        if (step.isDue) await this.#run('first', manual, log);
        else if (leftMs === 0) return log.runs;
      }
    });
  }

  /** All that is due together, until nothing is. */
  drain(): Promise<DelayRun[]> {
    return this.#alone(async (manual, log) => {
      do await this.#refuseOthers(manual);
      while (await this.#run('all', manual, log));
      return log.runs;
    });
  }

  /** @param tellOthers what there is of that name, for the message of one that does not wait */
  fire<N extends DelayName>(name: N, key: string, tellOthers: () => Promise<string>) {
    return this.#alone(async (manual, log): Promise<DelayRun<N>> => {
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
        throw new DelayTestingError(
          `${name} of ${JSON.stringify(key)} ${why}: ${await tellOthers()}`,
        );
      }
      await this.#run(Number(due.id), manual, log);
      const [run] = log.runs;
      if (run !== undefined) return run as DelayRun<N>;
      throw new DelayTestingError(
        `${name} of ${JSON.stringify(key)} did not begin: it is paused, a limit holds it back, the pool had no connection for it, or it is gone`,
      );
    });
  }

  /** Cancels all that no attempt holds, dead letters too. What is declared begins anew. */
  clear(): Promise<void> {
    return this.#alone(async (manual) => {
      await this.#refuseOthers(manual);
      await this.tested.producer.matching.change('cancel', {}, {});
      await manual.declare(travelledOf(manual).ms);
    });
  }

  /** Milliseconds since 1970: the database's clock, and the time that was let pass. */
  nowMs(): number {
    const { manual } = this.tested.engine;
    return manual === undefined ? Date.now() : manual.nowMs() + travelledOf(manual).ms;
  }

  get #names(): string[] {
    return this.tested.registry.names();
  }

  /** @returns whether there was anything */
  async #run(which: 'first' | 'all' | number, manual: ManualRuns, log: RunLog): Promise<boolean> {
    const held = log.held.at(log.travelledMs);
    const due = await this.#store.due(manual.runner, this.#names, which, held);
    const rows = await Promise.all(due.map((row) => this.#given(row)));
    await log.of(rows, () => manual.run(rows));
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

  /** One call at a time: two would take each other's time, and one in a handler would wait for itself. */
  async #alone<Result>(
    work: (manual: ManualRuns, log: RunLog) => Promise<Result>,
  ): Promise<Result> {
    const { engine, events } = this.tested;
    const { manual } = engine;
    if (manual === undefined) {
      throw new DelayTestingError('the application has not started: await app.init() before');
    }
    if (manual.isOver) throw new DelayShutdownError();
    const state = travelledOf(manual);
    if (state.isBusy) {
      throw new DelayTestingError(
        'another call of DelayTesting is under way: await that first; a handler can make none',
      );
    }
    state.isBusy = true;
    try {
      return await work(manual, new RunLog(events));
    } finally {
      state.isBusy = false;
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
