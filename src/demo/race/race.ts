import type { Invariants } from '../../shop/invariants/invariants.schemas.js';
import { INVARIANTS } from '../../shop/invariants/invariants.sql.js';
import { Buyers } from './buyers.js';
import { checksOf, countOf, type RaceCheck } from './checks.js';
import type { ClosingTime } from './closing-time.js';
import type { RaceOptions } from './command-line.js';
import { stopAtWork } from './faults.js';
import { handsOf, throttledBy } from './hands.js';
import type { Fault, Ledger, LedgerOrder } from './ledger.js';
import { pictureOf, type Picture } from './picture.js';
import { LEASE_MS, planOf, type Plan } from './plan.js';
import type { Progress } from './progress.js';
import { openRaceDatabase, type RaceDatabase } from './race-database.js';
import { RaceError } from './race-error.js';
import { ServerClock } from './server-clock.js';

import { ShopProcess } from './shop-process.js';
import { settled, watch } from './watch.js';

/** Longer than a lease and what follows it. Timers in memory do not come back at all. */
const PATIENCE_MS = { 'delay-queue': 20_000, naive: 1_500, cron: 1_500 } as const;
const MINUTE_MS = 60_000;

export interface RaceResult {
  plan: Plan;
  ledger: Ledger;
  picture: Picture;
  /** Checks of this race. */
  checks: RaceCheck[];
  /** The shop's own invariants, as it answers them. */
  invariants: Invariants['checks'];
  /** Errors and warnings of the processes. */
  outputs: string[];
}

/** @throws RaceError when the race cannot be run */
export async function race(
  options: RaceOptions,
  progress: Progress,
  closing: ClosingTime,
): Promise<RaceResult> {
  const running = await Race.open(planOf(options), progress, closing);
  await running.run();
  return running.judge();
}

class Race {
  readonly #ledger: Ledger;
  readonly #buyers: Buyers;

  private constructor(
    private readonly plan: Plan,
    private readonly progress: Progress,
    private readonly database: RaceDatabase,
    private readonly processes: readonly ShopProcess[],
    private readonly clock: ServerClock,
  ) {
    this.#ledger = { closer: plan.closer, orders: [], killed: null, paused: null };
    this.#buyers = new Buyers(processes, clock);
  }

  static async open(plan: Plan, progress: Progress, closing: ClosingTime): Promise<Race> {
    progress.show('starting Postgres …');
    const database = await openRaceDatabase(plan.processes, closing);
    progress.show(`Postgres is up; starting ${plan.processes} processes …`);
    const processes = await Promise.all(
      Array.from({ length: plan.processes }, async (_, index) => {
        const order = {
          closer: plan.closer,
          name: `process ${index + 1}`,
          databaseUrl: database.url,
          payWithinMs: plan.payWithinMs,
          leaseMs: LEASE_MS,
        };
        const started = await ShopProcess.start(order);
        return closing.add(started, (process) => process.stop());
      }),
    );
    progress.say(`Postgres and ${plan.processes} processes of the shop are up`);
    return new Race(plan, progress, database, processes, await ServerClock.read(database.client));
  }

  /** Plays all orders, each from its placing to its payment, and the faults in between. */
  async run(): Promise<void> {
    const { orders, payWithinMs, windowMs } = this.plan;
    await this.#buyers.warmUp();
    if (this.plan.closer === 'cron') this.#startScans();
    this.progress.say(
      `placing ${orders.length} orders within ${secondsOf(windowMs)}, each with ${secondsOf(payWithinMs)} to be paid`,
    );
    const payments = orders.filter(({ payOffsetMs }) => payOffsetMs !== null).length;
    const endWatch = watch(this.database.client, (counts) => {
      const { unpaid, paid, closed, arrivals } = counts;
      this.#buyers.learn(arrivals);
      const { placed, answered } = this.#buyers;
      this.progress.show(
        `${placed} of ${orders.length} orders placed, ${answered} of ${payments} payments answered` +
          ` · ${unpaid} unpaid, ${paid} paid, ${closed} closed`,
      );
    });
    try {
      await this.#play();
    } finally {
      endWatch();
    }
    this.progress.say('all payments answered; waiting for what is still to be closed or refunded');
    await settled(this.database.client, PATIENCE_MS[this.plan.closer], (counts) =>
      this.progress.show(`${counts.unpaid} unpaid, ${counts.refundPending} to be refunded`),
    );
  }

  async #play(): Promise<void> {
    const startMs = this.clock.nowMs;
    const placing = this.plan.orders.map(async (planned) => {
      await this.clock.reaches(() => startMs + planned.placeAfterMs);
      const order = await this.#buyers.place(planned);
      this.#ledger.orders.push(order);
      return order;
    });
    const paying = placing.map(async (placed, index) => {
      await this.#buyers.pay(await placed, this.plan.orders[index]?.payOffsetMs ?? 0);
    });
    await Promise.all([...paying, this.#hit(placing)]);
    const deadlines = this.#ledger.orders.map(({ payDeadlineMs }) => payDeadlineMs);
    await this.clock.reaches(() => Math.max(...deadlines));
  }

  async #hit(placing: readonly Promise<LedgerOrder>[]): Promise<void> {
    const placed = await Promise.all(placing);
    this.progress.say('all placed; now their deadlines come, and the payments with them');
    const firstMs = Math.min(...placed.map(({ payDeadlineMs }) => payDeadlineMs));
    await Promise.all([this.#pause(firstMs), this.#kill(firstMs)]);
  }

  #startScans(): void {
    const { payWithinMs, scanAfterMs } = this.plan;
    const scanAtMs = Date.now() + payWithinMs + scanAfterMs;
    const atMsOfMinute = (Math.floor(scanAtMs / 1_000) * 1_000) % MINUTE_MS;
    for (const process of this.processes) process.send({ type: 'scan', atMsOfMinute });
  }

  async judge(): Promise<RaceResult> {
    const alive = this.processes.find(({ state }) => state === 'up');
    if (!alive) throw new RaceError(`No process is left: ${this.#outputs().join('\n')}`);
    const { body } = await alive.get('/invariants');
    const picture = await pictureOf(this.database.client);
    for (const process of this.processes) {
      picture.closes.push(...process.closed.map((orderId) => ({ orderId, by: process.name })));
    }
    return {
      plan: this.plan,
      ledger: this.#ledger,
      picture,
      checks: [...checksOf(this.#ledger, picture), this.#survivors()],
      invariants: (body as Invariants).checks.filter(({ name }) => this.#isOf(name)),
      outputs: this.#outputs(),
    };
  }

  /** A shop without delays cannot break rules about them. */
  #isOf(name: string): boolean {
    const sql: string = (INVARIANTS as Record<string, string>)[name] ?? '';
    return this.plan.closer === 'delay-queue' || !sql.includes('delay_queue.');
  }

  async #pause(firstMs: number): Promise<void> {
    const { process, afterMs, forMs } = this.plan.pause;
    await this.clock.reaches(() => firstMs + afterMs);
    const fault = await this.#stop(process);
    this.#say(`${this.processes[process]!.name} is paused for ${forMs / 1_000} s (SIGSTOP)`, fault);
    await this.processes[process]!.pauseFor(forMs);
    this.#ledger.paused = { ...fault, untilMs: this.clock.nowMs };
    this.progress.say(`${this.processes[process]!.name} goes on (SIGCONT)`);
  }

  async #kill(firstMs: number): Promise<void> {
    const { process, afterMs } = this.plan.kill;
    await this.clock.reaches(() => firstMs + afterMs);
    const fault = await this.#stop(process);
    await this.processes[process]!.kill();
    this.#ledger.killed = fault;
    this.#say(`${this.processes[process]!.name} is killed (kill -9)`, fault);
  }

  async #stop(process: number): Promise<Fault> {
    const { closer } = this.plan;
    const { client } = this.database;
    const { orders } = this.#ledger;
    const victim = this.processes[process]!;
    if (closer === 'delay-queue') {
      // While it closes an unpaid order: another process has to take over.
      const unpaid = new Set(orders.filter(({ payment }) => !payment).map(({ id }) => id));
      const isAtWork = async (): Promise<boolean> =>
        (await throttledBy(client, victim.name)).some((id) => unpaid.has(id));
      await stopAtWork(victim, isAtWork, this.clock);
    } else {
      victim.pause();
    }
    const atMs = this.clock.nowMs;
    const hands = await handsOf(closer, client, { name: victim.name, process }, orders);
    return { process, atMs, ...hands };
  }

  #say(what: string, { held }: Fault): void {
    const orders = held.length === 1 ? 'order' : 'orders';
    this.progress.say(held.length > 0 ? `${what} while it closes ${held.length} ${orders}` : what);
  }

  #survivors(): RaceCheck {
    const ended = this.processes.filter(
      ({ state }, index) => state !== 'up' && index !== this.plan.kill.process,
    );
    const broken = ended.map(({ name }) => `${name} ended by itself`);
    return {
      name: 'no process ended but the one that was killed',
      detail: countOf(this.processes, broken),
      broken,
    };
  }

  #outputs(): string[] {
    return this.processes
      .filter(({ output }) => output.trim() !== '')
      .map(({ name, output }) => `${name} said:\n${output.trim()}`);
  }
}

const secondsOf = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
