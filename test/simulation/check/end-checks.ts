import type { Cluster } from '../cluster/cluster.js';
import { queuesOf, sizesOf } from '../cluster/queues.js';
import { isDead, msOf, wakeOf, type Row } from '../postgres/row.js';

/** Due later than this after the trouble: it stays where it is. */
const FAR_MS = 600_000;

/** Where what is due far in the future may wait. */
const MAY_BE_FAR = new Set(['wheels', 'entries']);

/** What clients were about to do when the trouble ended. */
const LAST_CALLS_MS = 2_000;

/** How often it is looked whether all has ended. */
const LOOK_EVERY_MS = 200;

/** What a node may still be busy with that began in the trouble: a statement nobody answers. */
const SILENCE_MS = 15_000;

/** Pauses of failed recurring tasks grow to 5 s, and so does the wait for a connection. */
const RETRY_MS = 10_000;

/** With peers a sweep comes at least this often. */
const SWEEP_MS = 5_000;

/** Without LISTEN loads come at least this often. */
const DEAF_LOAD_MS = 1_000;

/** How long statements without work are counted. */
const IDLE_MS = 20_000;

/**
 * Without faults: hint, claim and fence, each with the making of a connection, and timers. At most
 * 67 ms in 2,000 seeds; what only a load finds is hundreds of milliseconds late.
 */
const CALM_LATENESS_MS = 100;

/** After the trouble: everything ends in time, nothing is left in memory, and nodes stop clean. */
export class EndChecks {
  #isOver = false;
  #quietAtMs = 0;
  #giveUpAtMs = 0;
  #endedAtMs = 0;

  constructor(private readonly cluster: Cluster) {}

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The trouble is over. */
  begin(): void {
    this.cluster.world.timeline.after(LAST_CALLS_MS, () => {
      this.#quietAtMs = this.#nowMs;
      this.#giveUpAtMs = this.#quietAtMs + this.#boundMs();
      this.#look();
    });
  }

  figures(): Record<string, number> {
    const { rows, runs, shared, statements } = this.cluster;
    return {
      ...Object.fromEntries(rows.ends),
      ...Object.fromEntries([...statements].map(([label, count]) => [`sql ${label}`, count])),
      'sql of several calls': shared,
      latenessMaxMs: runs.latenessMaxMs,
      settledAfterMs: this.#endedAtMs - this.#quietAtMs,
      boundMs: this.#giveUpAtMs - this.#quietAtMs,
    };
  }

  get #nowMs(): number {
    return this.cluster.world.timeline.nowMs;
  }

  /** The furthest wake, a lease, loads until a dead node is missed, a sweep, and what hung before. */
  #boundMs(): number {
    const { world, server } = this.cluster;
    const { options, weather } = world.scenario;
    const leaseMs = Math.max(Number(options.lease), Number(options.timeout));
    const wakes = this.#left().map((row) => msOf(wakeOf(row) - server.now()));
    const hungMs = weather.faultChance > 0 ? SILENCE_MS + RETRY_MS : RETRY_MS;
    const loadsMs = 3 * Math.max(Number(options.loadEvery), DEAF_LOAD_MS);
    return Math.max(0, ...wakes) + leaseMs + loadsMs + 2 * SWEEP_MS + hungMs;
  }

  #look(): void {
    const { world, isWhole } = this.cluster;
    const left = [...this.#left(), ...this.#inMemory()];
    if (left.length === 0 && isWhole) {
      this.#endedAtMs = this.#nowMs;
      this.#quiet();
    } else if (this.#nowMs > this.#giveUpAtMs) {
      world.violate(`not ended in time: ${JSON.stringify(left)}`);
    } else {
      world.timeline.after(LOOK_EVERY_MS, () => this.#look());
    }
  }

  #left(): Row[] {
    const { server } = this.cluster;
    const untilMs = msOf(server.now()) + FAR_MS;
    return [...server.tables.rows.values()].filter(
      (row) => !isDead(row) && msOf(row.dueAt) < untilMs,
    );
  }

  /**
   * What was heard of too late stands in the wheels until its time has passed; then nothing does,
   * but perhaps the far future.
   */
  #inMemory(): string[] {
    const rows = [...this.cluster.server.tables.rows.values()];
    const far = rows.filter((row) => !isDead(row)).length;
    return this.cluster.living.flatMap((node) => {
      const sizes = {
        ...sizesOf(queuesOf(node.process)),
        calls: this.cluster.answers.waitingAt(node),
      };
      return Object.entries(sizes)
        .filter(([queue, size]) => size > (MAY_BE_FAR.has(queue) ? far : 0))
        .map(([queue, size]) => `${size} ${queue} on ${node.name}`);
    });
  }

  #quiet(): void {
    const { world, runs } = this.cluster;
    const { isCalm, isIdleCounted } = world.scenario;
    if (isCalm && runs.latenessMaxMs > CALM_LATENESS_MS) {
      world.violate(`${runs.latenessMaxMs} ms late, and nothing was wrong`);
    }
    if (isIdleCounted) this.#countIdle(() => this.#close());
    else this.#close();
  }

  #countIdle(then: () => void): void {
    const { world, statements, living } = this.cluster;
    const { lease, loadEvery } = world.scenario.options;
    statements.clear();
    world.timeline.after(IDLE_MS, () => {
      const counted = Object.fromEntries(statements);
      const loads = IDLE_MS / Math.min(Number(loadEvery), DEAF_LOAD_MS) + 2;
      const sweeps = IDLE_MS / Math.min(Number(lease) / 2, SWEEP_MS) + 2;
      const total = Object.values(counted).reduce((sum, count) => sum + count, 0);
      if (total > living.length * (loads + sweeps + 1)) {
        world.violate(`idle, and ${JSON.stringify(counted)} in ${IDLE_MS} ms`);
      }
      then();
    });
  }

  #close(): void {
    const { world, living } = this.cluster;
    this.cluster.isClosing = true;
    let open = living.length;
    for (const node of living) {
      // Each in an event of its own: whose microtasks these are must be clear.
      world.timeline.after(0, () => {
        void node.stop().then(() => {
          open -= 1;
          if (open === 0) world.timeline.after(LOOK_EVERY_MS, () => this.#stopped());
        });
      });
    }
    world.timeline.after(SILENCE_MS + RETRY_MS, () => {
      if (open > 0) world.violate(`${open} nodes do not stop`);
    });
  }

  #stopped(): void {
    const { world, living } = this.cluster;
    for (const { name, process } of living) {
      if (process.timersLeft > 0) world.violate(`${name} leaves ${process.timersLeft} timers`);
    }
    this.#isOver = true;
  }
}
