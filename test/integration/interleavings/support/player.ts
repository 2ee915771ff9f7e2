import type { DelayService } from 'nestjs-delay-queue';
import { QueryFailedError } from 'typeorm';
import { OtherNode } from '../../../support/other-node.js';
import type { Act, Part } from './acts.js';
import type { Actor } from './actor.js';
import type { Session } from './session.js';

/** A call and what came of it; `from` and `until` number the views between which it ran. */
export interface Call {
  actor: Actor;
  act: string;
  slot: string;
  verdict: string;
  /** What a node asked for. */
  asked: Part['asked'];
  from: number;
  until: number;
  /** The views in which it waited for somebody. */
  waits: number[];
}

/** Postgres ends a transaction with these for reasons that lie with others. */
const CONFLICTS = new Set(['40001', '40P01']);

/** One actor of one interleaving at work on its session. */
export class Player {
  readonly calls: Call[] = [];
  /** The view after its transaction, or its last call. */
  endedAt = 0;
  /** Set once its transaction has a snapshot or may hold a lock. */
  touched = false;
  refused: string | undefined;
  #from: number | undefined;
  #waits: number[] = [];

  constructor(
    readonly actor: Actor,
    readonly session: Session,
    private readonly part: Part,
    private readonly views: () => number,
  ) {}

  static partOf(
    actor: Actor,
    session: Session,
    from: Pick<Part, 'keyOf' | 'wake' | 'attempt'> & { delays: DelayService },
  ): Part {
    const { store } = new OtherNode(session.manager, actor.nodeName);
    return { ...from, manager: session.manager, store };
  }

  get open(): boolean {
    return this.touched && this.session.runner.isTransactionActive;
  }

  step(): void {
    this.touched = true;
    this.#from ??= this.views() - 1;
    this.session.step();
  }

  waits(view: number): void {
    this.#waits.push(view);
  }

  async play(): Promise<void> {
    const { acts, end, isolation } = this.actor;
    const { runner } = this.session;
    if (end) await runner.startTransaction(isolation);
    try {
      for (const act of acts) await this.#perform(act);
    } catch (error) {
      this.#refuse(error);
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      this.endedAt = this.views();
      return;
    }
    if (end === 'commit') await runner.commitTransaction();
    if (end === 'rollback') await runner.rollbackTransaction();
    this.endedAt = this.views();
  }

  async #perform(act: Act): Promise<void> {
    this.#from = undefined;
    this.#waits = [];
    const verdicts = await act.run(this.part);
    if (verdicts === undefined) return;
    for (const [index, slot] of act.slots.entries()) {
      this.#note(act.name, slot, verdicts[index] ?? 'no verdict');
    }
  }

  #note(act: string, slot: string, verdict: string): void {
    this.calls.push({
      actor: this.actor,
      act,
      slot,
      verdict,
      asked: this.part.asked,
      from: this.#from ?? 0,
      until: this.views(),
      waits: this.#waits,
    });
  }

  #refuse(error: unknown): void {
    const code = error instanceof QueryFailedError ? error.driverError['code'] : undefined;
    if (!CONFLICTS.has(code)) throw error;
    this.refused = code;
  }
}
