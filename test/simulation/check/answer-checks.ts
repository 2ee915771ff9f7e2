import type { SimNode } from '../cluster/sim-node.js';
import { msOf, type Row } from '../postgres/row.js';
import type { Commit } from '../postgres/tables.js';
import type { World } from '../world.js';

/** What a client asked for; a payload that no other call has. */
export interface Asked {
  name: string;
  /** Null for a delay without one. */
  key: string | null;
  payload?: object;
}

/** What a client is told of it. */
export type Answer = { verdict: 'absent' } | { verdict: string; id: string; dueAt: Date };

/** What was ever written of one row. */
interface Life {
  name: string;
  key: string | null;
  /** Each payload with its due time. */
  written: Set<string>;
  dueMs: Set<number>;
  wasCancelled: boolean;
}

const writingOf = (payload: string, dueMs: number): string => `${payload} due ${dueMs}`;

/**
 * Watches what clients are told: it is about the delay that they named, it is so in the table, and
 * nobody waits for ever.
 */
export class AnswerChecks {
  readonly #lives = new Map<number, Life>();
  readonly #waiting = new WeakMap<SimNode, number>();

  constructor(private readonly world: World) {}

  /** Calls through that node without an answer yet. */
  waitingAt(node: SimNode): number {
    return this.#waiting.get(node) ?? 0;
  }

  asked(node: SimNode): void {
    this.#waiting.set(node, this.waitingAt(node) + 1);
  }

  /** Or failed. */
  answered(node: SimNode): void {
    this.#waiting.set(node, this.waitingAt(node) - 1);
  }

  committed({ changes }: Commit): void {
    for (const { by, before, after } of changes) {
      if (after) this.#written(after);
      else if (before && by === 'cancel') this.#lifeOf(before).wasCancelled = true;
    }
  }

  told(asked: Asked, answer: Answer): void {
    if (!('id' in answer)) return;
    const life = this.#lives.get(Number(answer.id));
    const isSo = life?.name === asked.name && life.key === asked.key && isTrue(life, asked, answer);
    if (isSo) return;
    const told = `${answer.verdict} of ${answer.id}, due ${answer.dueAt.toISOString()}`;
    this.world.violate(`who asked for ${JSON.stringify(asked)} was told ${told}`);
  }

  #written(row: Row): void {
    const life = this.#lifeOf(row);
    const dueMs = msOf(row.dueAt);
    life.dueMs.add(dueMs);
    life.written.add(writingOf(row.payload, dueMs));
  }

  #lifeOf({ id, name, key }: Row): Life {
    const known = this.#lives.get(id);
    if (known) return known;
    const life: Life = { name, key, written: new Set(), dueMs: new Set(), wasCancelled: false };
    this.#lives.set(id, life);
    return life;
  }
}

function isTrue(life: Life, { payload }: Asked, answer: { verdict: string; dueAt: Date }): boolean {
  const dueMs = answer.dueAt.getTime();
  const isWritten = life.written.has(writingOf(JSON.stringify(payload), dueMs));
  switch (answer.verdict) {
    case 'scheduled':
    case 'replaced':
      return isWritten;
    case 'cancelled':
      return life.wasCancelled;
    case 'kept':
    case 'running':
    case 'rescheduled':
    case 'retried':
      return !isWritten && life.dueMs.has(dueMs);
    default:
      return false;
  }
}
