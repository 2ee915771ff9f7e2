import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DelayService } from 'nestjs-delay-queue';
import { KEPT_SQL, ROWS_SQL, type Row } from './journal.js';
import { SENTINEL, type Handlers } from './handlers.js';
import type { Record } from './record.js';

/**
 * Who is due, free, and overtaken by so many that came later has been forgotten: these take eight seconds. A row
 * that was held is looked at every two, and one that was forgotten is found by a sweep after fifteen.
 */
const OVERTAKEN_MAX = 80;

/** A sweep finds what was written by a call that nobody heard the answer of, and comes every 15 s. */
const UNHEARD_OVERTAKEN_MAX = 250;

/** No transaction of a program lasts longer than so many times what a row may be overtaken. */
const HELD_LOOKS_MAX = 8;
const FREE_SQL = `SELECT FROM delay_queue.delay WHERE id = $1 FOR UPDATE SKIP LOCKED`;

/** A sentinel is due that much later than it is asked for. */
const SENTINEL_AFTER_MS = 100;

/** One that takes longer is overtaken by others that are due at once, and so often. */
const OVERTAKE_EVERY_MS = 100;
const OVERTAKE_AFTER_MS = 1_000;

/** For one that the engine has lost, of which no other sentinel can tell. */
const SENTINEL_WITHIN_MS = 20_000;

/** A sentinel's own call may be refused so often. */
const REFUSALS_MAX = 50;

/** What is still kept then, no node knows of: its commit was not answered. */
const KEPT_LOOKS_MAX = 30;

/** What is due later than this is not waited for. */
const SOON_MS = 6_000;

const isSentinel = ({ name }: Row): boolean => name === SENTINEL;

/**
 * Waits until everything that is due has run. Late is not what takes its time on a busy machine, but
 * what is overtaken again and again by sentinels, which were scheduled when it was due already.
 */
export class Quiet {
  /** Rounds in which a row stood still, by id and epoch. */
  readonly #stood = new Map<string, number>();
  readonly #forgotten = new Set<string>();
  readonly #heldLooks = new Map<string, number>();
  #keptLooks = 0;

  constructor(
    private readonly client: Client,
    private readonly delays: DelayService,
    private readonly handlers: Handlers,
    private readonly record: Record,
    private readonly overtakenMax = OVERTAKEN_MAX,
  ) {}

  /** @returns the rows that are left */
  async wait(): Promise<Row[]> {
    for (;;) {
      const isAlive = await this.#sentinel();
      const { rows } = await this.client.query<Row>(ROWS_SQL);
      const others = rows.filter((row) => !isSentinel(row));
      if (!isAlive) {
        const what = `a delay of ${SENTINEL_AFTER_MS} ms did not run`;
        this.record.fault('late', `${what}, nor by the time that many others had overtaken it`);
        return others;
      }
      let isOver = true;
      for (const row of others) if (await this.#isOpen(row)) isOver = false;
      if (isOver && (await this.#isNothingKept())) return others;
    }
  }

  /** What is kept of a key becomes its delay within a second of the end of its run, where a node knows of it. */
  async #isNothingKept(): Promise<boolean> {
    const { rows } = await this.client.query(KEPT_SQL);
    this.#keptLooks += 1;
    return rows.length === 0 || this.#keptLooks > KEPT_LOOKS_MAX;
  }

  /** Whether there is something to wait for. */
  async #isOpen(row: Row): Promise<boolean> {
    const { id, epoch, attempts, overdue_ms, leased_ms } = row;
    const key = `${id} ${epoch} ${attempts}`;
    if (overdue_ms === null || this.#forgotten.has(key)) return false;
    if ((this.handlers.working.get(id) ?? 0) > 0) return true;
    if (Number(overdue_ms) < 0) return Number(overdue_ms) > -SOON_MS;
    const stood = (this.#stood.get(key) ?? 0) + 1;
    this.#stood.set(key, stood);
    const overtakenMax = this.#isUnheard(row) ? UNHEARD_OVERTAKEN_MAX : this.overtakenMax;
    if (stood <= overtakenMax) return true;
    if (await this.#isHeld(id)) {
      this.#stood.delete(key);
      return true;
    }
    this.#forgotten.add(key);
    const isLeased = leased_ms !== null && Number(leased_ms) > 0;
    const kind = isLeased ? 'forgotten lease' : 'late';
    const what = `${row.name} ${id} ${row.key ?? ''} (epoch ${epoch}, attempts ${attempts}, token ${row.token})`;
    this.record.fault(
      kind,
      `${what} has been due for ${overdue_ms} ms${isLeased ? `, leased for ${leased_ms} ms more with no handler at work` : ''}, overtaken by ${stood}`,
    );
    return false;
  }

  /** By somebody's transaction: a handler's, which waits for its part of ten seconds for another one. */
  async #isHeld(id: string): Promise<boolean> {
    const held = (this.#heldLooks.get(id) ?? 0) + 1;
    this.#heldLooks.set(id, held);
    if (held > HELD_LOOKS_MAX) return false;
    const { rowCount } = await this.client.query(FREE_SQL, [id]);
    return rowCount === 0;
  }

  /** Whether a call about it failed, or went on when its transaction was over: it may have written all the same. */
  #isUnheard({ name, key, token }: Row): boolean {
    const isIt = (one: { name: string; key?: string }): boolean =>
      one.name === name && one.key !== undefined && one.key === key;
    return this.record.told.some(({ answers, transaction, answeredAt, call, tokens }) => {
      if (answers !== undefined && answeredAt <= (transaction?.overAt ?? Infinity)) return false;
      return (token !== null && tokens.includes(token)) || ('slot' in call && isIt(call.slot));
    });
  }

  /** Whether one has run before so many that were scheduled when it had long been due. */
  async #sentinel(): Promise<boolean> {
    const ran = this.#scheduled(SENTINEL_AFTER_MS);
    let isOver = await Promise.race([ran, pause(OVERTAKE_AFTER_MS, undefined)]);
    for (let overtaken = 0; isOver === undefined && overtaken < this.overtakenMax;) {
      // These need no wheel.
      const other = this.#scheduled(0).catch(() => false);
      const hasRun = await Promise.race([ran, other, pause(OVERTAKE_AFTER_MS, undefined)]);
      if (hasRun === true) overtaken += 1;
      isOver = await Promise.race([ran, pause(OVERTAKE_EVERY_MS, undefined)]);
    }
    return isOver ?? false;
  }

  /** Some programs let a connection take little time, and a busy machine lets it take more: a refusal is no fault. */
  async #insisting(call: () => Promise<unknown>): Promise<void> {
    for (let refusals = 0; ; refusals += 1) {
      try {
        await call();
        return;
      } catch (error) {
        if (refusals === REFUSALS_MAX) throw error;
        await pause(OVERTAKE_EVERY_MS);
      }
    }
  }

  /** @returns whether it has run in time */
  async #scheduled(afterMs: number): Promise<boolean> {
    const token = this.record.token('s');
    let timer: NodeJS.Timeout | undefined;
    const ran = new Promise<boolean>((resolve) => {
      this.handlers.sentinels.set(token, () => resolve(true));
      timer = setTimeout(() => resolve(false), SENTINEL_WITHIN_MS);
    });
    try {
      await this.#insisting(() => this.delays.schedule(SENTINEL, token, { after: afterMs }));
      return await ran;
    } finally {
      clearTimeout(timer);
      this.handlers.sentinels.delete(token);
    }
  }
}
