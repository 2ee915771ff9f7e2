import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { NodeProcess } from '../../test/support/node-process.js';
import { until } from '../../test/support/until.js';
import type { DesignName, Outcome } from './designs.js';
import type { Message, Request } from './process.protocol.js';
import { openTables } from './tables.js';

/** One process, as its parent sees it. */
export class Actor {
  #calls = 0;

  constructor(
    readonly name: string,
    private readonly process: NodeProcess<Message>,
  ) {}

  place(orderId: string, afterMs: number): Promise<number> {
    return this.#ask({ ask: 'place', orderId, afterMs });
  }

  /** @returns whether the money was taken */
  async pay(orderId: string, { spoilt = false } = {}): Promise<boolean> {
    return (await this.#ask({ ask: 'pay', orderId, spoilt })) === 1;
  }

  left(): Promise<number> {
    return this.#ask({ ask: 'left' });
  }

  goOn(orderId: string): void {
    this.process.send({ goOn: orderId });
  }

  isClosing(orderId: string): boolean {
    return this.process.messages.some(({ closing }) => closing === orderId);
  }

  async kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    if (this.process.running) await this.process.kill(signal);
  }

  async #ask(request: Request): Promise<number> {
    const call = ++this.#calls;
    this.process.send({ ...request, call });
    return (await this.process.waitFor((message) => message.call === call)).answer ?? 0;
  }
}

/** The processes of one design on one database, and who may go on with which close. */
export class Cast {
  readonly #actors = new Map<string, Actor>();
  readonly #held = new Set<string>();
  #started = 0;

  static async open(design: DesignName, url: string, guarded: boolean): Promise<Cast> {
    return new Cast(design, url, guarded, await openTables(url));
  }

  private constructor(
    private readonly design: DesignName,
    private readonly url: string,
    private readonly guarded: boolean,
    private readonly tables: DataSource,
  ) {}

  async start(): Promise<Actor> {
    const name = `${this.design}-${++this.#started}`;
    const { design, url, guarded } = this;
    const setup = JSON.stringify({ design, name, url, guarded });
    const process = NodeProcess.start<Message>('docs/classics/process.ts', {
      env: { CLASSIC: setup },
    });
    const actor = new Actor(name, process);
    this.#actors.set(name, actor);
    process.onMessage(({ closing }) => {
      if (closing !== undefined && !this.#held.has(closing)) actor.goOn(closing);
    });
    await process.waitFor(({ ready }) => ready === true);
    return actor;
  }

  /** From now on, a process that is about to close one of these waits for `letGo`. */
  hold(...orderIds: string[]): void {
    for (const orderId of orderIds) this.#held.add(orderId);
  }

  letGo(orderId: string): void {
    this.#held.delete(orderId);
    for (const actor of this.#actors.values()) {
      if (actor.isClosing(orderId)) actor.goOn(orderId);
    }
  }

  /** The processes that are about to close it, or were. */
  closing(orderId: string): Actor[] {
    return [...this.#actors.values()].filter((actor) => actor.isClosing(orderId));
  }

  /** Until so many are about to close it. @returns the first of them */
  async untilClosing(orderId: string, actors = 1): Promise<Actor> {
    const all = await until(
      () => this.closing(orderId),
      ({ length }) => length >= actors,
      { tell: () => `${orderId} of ${this.design}` },
    );
    return all[0]!;
  }

  /** A while in which others may come to that order. */
  async whileNobody(orderId: string, forMs: number, actors = 1): Promise<void> {
    const endsAtMs = performance.now() + forMs;
    while (this.closing(orderId).length < actors && performance.now() < endsAtMs) await pause(20);
  }

  async kill(actor: Actor): Promise<void> {
    await actor.kill('SIGKILL');
    this.#actors.delete(actor.name);
  }

  /** Until no process has anything left to close. */
  async quiet(): Promise<void> {
    const look = async (): Promise<number> => {
      const left = await Promise.all([...this.#actors.values()].map((actor) => actor.left()));
      return Math.max(...left);
    };
    await until(look, (left) => left === 0);
  }

  /** By the clock that due times are of. */
  async now(): Promise<Date> {
    const [row] = await this.tables.query<[{ now: Date }]>('SELECT clock_timestamp() AS now');
    return row.now;
  }

  /**
   * What became of the orders whose ids begin so.
   * @param late those whose lateness counts
   * @param since before that, no process was there to close them
   */
  async outcome(prefix: string, late: string[], since = new Date(0)): Promise<Outcome> {
    const [found] = await this.tables.query<[Outcome]>(
      `SELECT count(*) FILTER (WHERE paid AND status = 'CLOSED')::int AS "closedThoughPaid",
              count(*) FILTER (WHERE status = 'UNPAID')::int AS lost,
              count(*) FILTER (WHERE NOT paid AND returns > 1)::int AS double,
              coalesce(max(late_ms) FILTER (WHERE id = ANY ($2)), 0) AS "lateMs"
       FROM orders CROSS JOIN LATERAL (
         SELECT count(*) AS returns,
                extract(epoch FROM min(at) - greatest(due_at, $3))::float8 * 1000 AS late_ms
         FROM stock_return WHERE order_id = id) returned
       WHERE starts_with(id, $1)`,
      [prefix, late, since],
    );
    return found;
  }

  async close(): Promise<void> {
    for (const actor of this.#actors.values()) await actor.kill('SIGKILL');
    await this.tables.destroy();
  }
}
