import type { INestApplicationContext } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import {
  DelayConfigError,
  type DelayEvents,
  DelayInvalidError,
  type DelayName,
  DelayShutdownError,
  inWords,
  quoted,
  type RunNowResult,
} from '../core/index.js';
import {
  DEFAULT_QUEUE,
  Engine,
  EVENTS,
  HandlerRegistry,
  LOADS_MISSED_MAX,
  type ManualRuns,
  DelayClient,
  type Queue,
  queuesIn,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
  shown,
} from '../core/ops.js';
import { type DelayRun, DelayTestingError } from './delay-run.js';
import { type DueRow, TravelStore, type DueText } from './travel.store.js';
import { RunLog } from './run-log.js';

/** The parts of the application under test. */
export interface Tested {
  engine: Engine;
  registry: HandlerRegistry;
  events: DelayEvents;
  client: DelayClient;
  options: ResolvedOptions;
}

/** @throws DelayInvalidError for a non-application, DelayConfigError for one without that queue of ours */
export function findTested(app: unknown, queue: string): Tested {
  if (typeof (app as { get?: unknown } | null | undefined)?.get !== 'function') {
    throw new DelayInvalidError('app', `must be a Nest application or module, not ${shown(app)}`);
  }
  const { get } = app as Pick<INestApplicationContext, 'get'>;
  try {
    const all = queuesIn(get.call(app, ModulesContainer, { strict: false }) as ModulesContainer);
    const its = all.find((each) => each.queue === queue) as Queue;
    return {
      engine: its.get(Engine),
      registry: its.get(HandlerRegistry),
      events: its.get(EVENTS),
      client: its.get(DelayClient),
      options: its.get(RESOLVED_OPTIONS),
    };
  } catch (error) {
    const forRoot = queue === DEFAULT_QUEUE ? '' : `{ queue: '${queue}' }`;
    throw new DelayConfigError(
      `this application has no DelayQueueModule.forRoot(${forRoot}), or uses another copy of nestjs-delay-queue`,
      { cause: error },
    );
  }
}

/** A call of `DelayTesting` that has not returned. */
interface OpenCall {
  what: string;
  madeAtMs: number;
  /** Never rejects. */
  over: Promise<unknown>;
}

const open = new WeakMap<ManualRuns, OpenCall>();

/** What an open call does: a test that timed out leaves it behind, and later tests meet it. */
function describeCall({ what, madeAtMs }: OpenCall, manual: ManualRuns): string {
  const running = manual.running.join(', ');
  return `${what}, called ${inWords(performance.now() - madeAtMs)} ago${running && `: ${running}`}`;
}

/** Lets time pass on a manual node, and runs what is due. */
export class TimeTravel {
  readonly #store: TravelStore;

  constructor(private readonly tested: Tested) {
    this.#store = new TravelStore(tested.options.installation);
  }

  advance(ms: number): Promise<DelayRun[]> {
    return this.#standing('advance', (manual, log) => this.#advance(manual, log, log.fromMs + ms));
  }

  /** @throws DelayTestingError when that instant has passed */
  advanceTo(atMs: number): Promise<DelayRun[]> {
    return this.#standing('advanceTo', (manual, log) => {
      if (atMs < log.fromMs) {
        throw new DelayTestingError(
          `it is ${isoText(log.fromMs)} already, and time only moves forward: ${isoText(atMs)} has passed. ` +
            'clear({ now }) starts again, at any instant',
        );
      }
      return this.#advance(manual, log, atMs);
    });
  }

  /** Everything that is due, together, until nothing is. */
  drain(): Promise<DelayRun[]> {
    return this.#standing('drain', async (manual, log) => {
      do await this.#refuseOthers(manual);
      while (await this.#run('all', manual, log));
      return log.runs;
    });
  }

  /** @param tellOthers describes the name's delays, for the message if this one does not wait */
  fire<N extends DelayName>(name: N, key: string, tellOthers: () => Promise<string>) {
    return this.#standing('fire', async (manual, log): Promise<DelayRun<N>> => {
      if (this.tested.registry.get(name) === undefined) {
        throw new DelayTestingError(
          `this application has no handler of ${name}; it has ${this.#names.join(', ') || 'none'}`,
        );
      }
      await this.#refuseOthers(manual);
      const [due] = await this.tested.client.many.change<RunNowResult['verdict']>(
        'runNow',
        [{ name, key }],
        {},
      );
      if (due?.verdict === undefined || due.verdict === 'absent' || due.verdict === 'running') {
        const why = due?.verdict === 'running' ? 'is already running' : 'is not waiting';
        throw new DelayTestingError(`${name} of ${quoted(key)} ${why}: ${await tellOthers()}`);
      }
      await this.#run(Number(due.id), manual, log);
      const [run] = log.runs;
      if (run !== undefined) return run as DelayRun<N>;
      throw new DelayTestingError(
        `${name} of ${quoted(key)} did not start: it is paused, throttled by a limit, without a session for it, or gone`,
      );
    });
  }

  /**
   * Removes everything, and ends a call that a test left behind. Declared recurrences begin anew.
   * @param atMs where the clock stands then; undefined: it is the database's
   */
  async clear(atMs: number | undefined): Promise<void> {
    const left = open.get(this.#manual);
    if (left !== undefined) {
      const what = describeCall(left, this.#manual);
      this.#manual.interrupt(new DelayTestingError(`clear() has ended a call of ${what}`));
      await left.over;
    }
    await this.#alone('clear', async (manual) => {
      await this.#refuseOthers(manual);
      await manual.clear(atMs);
    });
  }

  /** @throws DelayTestingError before the application has started */
  follow(follower: (nowMs: number) => void): () => void {
    return this.#manual.clock.follow(follower);
  }

  /** Milliseconds since 1970 on the test's clock. */
  nowMs(): number {
    const { manual } = this.tested.engine;
    return manual === undefined ? Date.now() : manual.clock.nowMs();
  }

  /** From one due time to the next, up to `untilMs`. */
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
    throw new DelayTestingError('the application has not started: await app.init() first');
  }

  get #names(): string[] {
    return this.tested.registry.names();
  }

  /** @returns whether anything was due */
  async #run(which: 'first' | 'all' | number, manual: ManualRuns, log: RunLog): Promise<boolean> {
    const held = log.held.at(manual.clock.nowMs());
    const due = await this.#store.due(manual.runner, this.#names, which, held);
    const rows = await Promise.all(due.map((row) => this.#given(row)));
    await log.of(rows, manual.clock.nowMs(), () => manual.run(rows));
    return rows.length > 0;
  }

  /** A payload that cannot be decoded fails its attempt, and the run reports why. */
  async #given({ text, ...row }: DueText): Promise<DueRow> {
    try {
      return { ...row, payload: await this.tested.options.payloads.given(text, row) };
    } catch {
      return { ...row, payload: undefined };
    }
  }

  /**
   * Stops the clock while handlers run, at a whole millisecond: what is due at one instant begins
   * then and costs no time. Afterwards the clock goes on, unless the test has set it.
   */
  #standing<Result>(
    what: string,
    work: (manual: ManualRuns, log: RunLog) => Promise<Result>,
  ): Promise<Result> {
    return this.#alone(what, async (manual) => {
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

  /** One at a time: two would move each other's time; one in a handler would wait for itself. */
  async #alone<Result>(
    what: string,
    work: (manual: ManualRuns) => Promise<Result>,
  ): Promise<Result> {
    const manual = this.#manual;
    if (manual.isOver) throw new DelayShutdownError();
    const other = open.get(manual);
    if (other !== undefined) {
      throw new DelayTestingError(
        `another call of DelayTesting is in progress, ${describeCall(other, manual)}. Await it first; a handler cannot ` +
          'make one. If a test that timed out left it, clear() in beforeEach ends it',
      );
    }
    manual.goOn();
    const working = work(manual);
    const over = working.catch(() => {});
    open.set(manual, { what, madeAtMs: performance.now(), over });
    try {
      return await working;
    } finally {
      open.delete(manual);
    }
  }

  /** Before each step, since other nodes may start at any time. */
  async #refuseOthers({ runner }: ManualRuns): Promise<void> {
    const { schema, nodeName, loadEveryMs } = this.tested.options;
    const aliveMs = loadEveryMs * LOADS_MISSED_MAX;
    const live = await this.#store.liveNodes(runner, aliveMs);
    const others = live.filter((id) => id !== nodeName);
    if (others.length === 0) return;
    throw new DelayTestingError(
      `other nodes serve the schema ${schema}, and would run its delays: ${others.slice(0, 5).join(', ')}. ` +
        'Give each test file its own database or schema, and close each application; a killed one ' +
        `counts for up to ${aliveMs / 1_000} s`,
    );
  }
}

const isoText = (ms: number): string => new Date(ms).toISOString();
