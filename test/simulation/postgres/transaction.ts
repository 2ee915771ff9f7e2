import { keyText } from '../../../src/delay-queue/store/wire/delay-rows.js';
import { PgError } from './pg-error.js';
import type { Ended, Micros, NodeRow, Row } from './row.js';
import type { Change, Commit, Effect, Tables } from './tables.js';

/** A statement that has to wait says for whom. */
export type Waiting<Result> = Generator<Transaction, Result, void>;

interface Mark {
  name: string;
  writes: Map<number, Row | undefined>;
  changes: number;
  ended: number;
  effects: number;
  locks: Set<number>;
}

/**
 * One transaction in READ COMMITTED: sees what is committed and what it wrote itself, holds row
 * locks until its end. A statement outside of a transaction is one of its own.
 */
export class Transaction {
  #writes = new Map<number, Row | undefined>();
  #changes: Change[] = [];
  #ended: Ended[] = [];
  #effects: Effect[] = [];
  readonly #locks = new Set<number>();
  readonly #keys = new Set<string>();
  readonly #marks: Mark[] = [];
  readonly #notifications: { channel: string; text: string }[] = [];
  #onEnd: (() => void)[] = [];
  #isOver = false;
  /** Tells it from others of its session, as the instant of its beginning does. */
  readonly began: string;
  /** The statement that runs. */
  by = '';
  /** The database's clock at the start of the statement that runs. */
  now: Micros = 0;
  /** An error makes everything after it fail, until the rollback. */
  isAborted = false;
  /** Whom it waits for. */
  waitsFor: Transaction | undefined;
  /** `lock_timeout`, set locally. */
  lockTimeoutMs: number | undefined;
  /** `idle_in_transaction_session_timeout`, set locally. */
  idleMs: number | undefined;

  constructor(
    private readonly tables: Tables,
    readonly session: number,
  ) {
    tables.begun += 1;
    this.began = `transaction ${tables.begun}`;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get notifications(): readonly { channel: string; text: string }[] {
    return this.#notifications;
  }

  row(id: number): Row | undefined {
    return this.#writes.has(id) ? this.#writes.get(id) : this.tables.rows.get(id);
  }

  byKey(name: string, key: string): Row | undefined {
    for (const row of this.#writes.values()) if (row?.name === name && row.key === key) return row;
    const row = this.tables.byKey(name, key);
    return row && this.row(row.id);
  }

  rows(): Row[] {
    const rows: Row[] = [];
    for (const row of this.tables.rows.values()) if (!this.#writes.has(row.id)) rows.push(row);
    for (const row of this.#writes.values()) if (row !== undefined) rows.push(row);
    return rows;
  }

  /** `FOR UPDATE SKIP LOCKED`: the newest version, or nothing when somebody else has it. */
  tryLock(id: number): Row | undefined {
    const holder = this.tables.lockedBy.get(id);
    if (holder !== undefined && holder !== this) return undefined;
    this.tables.lockedBy.set(id, this);
    this.#locks.add(id);
    return this.row(id);
  }

  /** `FOR UPDATE`: the newest version once nobody else has it; nothing when it is gone by then. */
  *lock(id: number): Waiting<Row | undefined> {
    for (;;) {
      const holder = this.tables.lockedBy.get(id);
      if (holder === undefined || holder === this) break;
      yield holder;
    }
    return this.tryLock(id);
  }

  put(row: Row): void {
    this.#changes.push({ by: this.by, before: this.row(row.id), after: row });
    this.#writes.set(row.id, row);
  }

  remove(id: number): void {
    this.#changes.push({ by: this.by, before: this.row(id), after: undefined });
    this.#writes.set(id, undefined);
  }

  /** `ON CONFLICT DO NOTHING`; waits for an uncommitted row with that key. @returns whether it stands */
  *insert(row: Row): Waiting<boolean> {
    if (row.key !== null) {
      const slot = keyText(row);
      for (;;) {
        const holder = this.tables.keyTakenBy.get(slot);
        if (holder === undefined || holder === this) break;
        yield holder;
      }
      if (this.byKey(row.name, row.key) !== undefined) return false;
      this.tables.keyTakenBy.set(slot, this);
      this.#keys.add(slot);
    }
    this.tryLock(row.id);
    this.put(row);
    return true;
  }

  end(line: Ended): void {
    this.#ended.push(line);
  }

  effect(effect: Effect): void {
    this.#effects.push(effect);
  }

  notify(channel: string, text: string): void {
    this.#notifications.push({ channel, text });
  }

  seen(node: NodeRow): void {
    this.tables.nodes.set(node.id, node);
  }

  savepoint(name: string): void {
    this.#marks.push({
      name,
      writes: new Map(this.#writes),
      changes: this.#changes.length,
      ended: this.#ended.length,
      effects: this.#effects.length,
      locks: new Set(this.#locks),
    });
  }

  releaseSavepoint(name: string): void {
    this.#marks.splice(this.#indexOfMark(name));
  }

  rollbackTo(name: string): void {
    const mark = this.#marks[this.#indexOfMark(name)]!;
    this.#writes = new Map(mark.writes);
    this.#changes.length = mark.changes;
    this.#ended.length = mark.ended;
    this.#effects.length = mark.effects;
    this.isAborted = false;
    for (const id of this.#locks) {
      if (mark.locks.has(id)) continue;
      this.#locks.delete(id);
      this.tables.lockedBy.delete(id);
    }
    this.#wake();
  }

  /** @returns what it did; nothing when it was aborted, for then COMMIT rolls back without a word */
  commit(): Commit | undefined {
    if (this.isAborted || this.#isOver) {
      this.rollback();
      return undefined;
    }
    for (const [id, row] of this.#writes) this.tables.write(id, row);
    this.tables.history.push(...this.#ended);
    this.tables.effects.push(...this.#effects);
    this.#finish();
    const { session } = this;
    return { changes: this.#changes, ended: this.#ended, effects: this.#effects, session };
  }

  rollback(): void {
    if (!this.#isOver) this.#finish();
  }

  /** @throws PgError 40P01 when they wait for each other */
  waitFor(holder: Transaction, goOn: () => void): void {
    for (let next: Transaction | undefined = holder; next; next = next.waitsFor) {
      if (next === this) throw new PgError('40P01', 'deadlock detected');
    }
    this.waitsFor = holder;
    holder.#onEnd.push(() => {
      this.waitsFor = undefined;
      goOn();
    });
  }

  #indexOfMark(name: string): number {
    const index = this.#marks.findLastIndex((mark) => mark.name === name);
    if (index < 0) throw new PgError('3B001', `savepoint "${name}" does not exist`);
    return index;
  }

  #finish(): void {
    this.#isOver = true;
    for (const id of this.#locks) this.tables.lockedBy.delete(id);
    for (const slot of this.#keys) this.tables.keyTakenBy.delete(slot);
    this.#wake();
  }

  /** Who waited looks again, whether for the end of this or for a lock that it let go. */
  #wake(): void {
    const waiting = this.#onEnd;
    this.#onEnd = [];
    for (const goOn of waiting) goOn();
  }
}
