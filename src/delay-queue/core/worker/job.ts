import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import type { Attempt } from './attempt.js';

/**
 * Where a wake is known from. `confirmed`: from a row, or from our own commit that wrote it.
 * `hinted`: from a hint, or from a commit of which a part may have been rolled back.
 */
export type Source = 'confirmed' | 'hinted';

/**
 * One wake of one delay on this node, from the offer until its outcome is written:
 *
 * ```text
 *             ┌──── locked, early ───┐
 *             ▼                      │
 *  offer ─┬─► wheel ─┬─► ready ──► claiming ──► claimed ──► ended ──► gone
 *         └─► due ───┘     ▲         │
 *                          └ throttled
 * ```
 */
export class Job implements Wake {
  readonly id: number;
  /** Of the row: a claim raises it. */
  epoch: number;
  readonly name: string;
  readonly group: string | null;
  wakeMs: number;
  readonly stalled: boolean;
  readonly failed: boolean;
  orphaned: boolean;
  /** Its handle in the timing wheel, while it is there. */
  handle = 0;
  /** Claims in a row that found it locked or early. */
  timesNotClaimed = 0;
  /** A claim that asked for it failed: the most that the next one may ask for. */
  claimedWithin: number | undefined = undefined;
  /** A wake of a later epoch that arrived while its claim was in flight. */
  later: [wake: Wake, source: Source] | undefined = undefined;
  /** Once it is claimed. */
  attempt: Attempt | undefined = undefined;
  /** An earlier job of this delay that is not over: the row moved on under its claim. */
  before: Job | undefined = undefined;

  /**
   * @param hinted not confirmed by a row: there may never have been one
   * @param scanNo number of the scan that found it; 0: no scan did
   */
  constructor(
    wake: Wake,
    public state: JobState,
    public hinted = false,
    readonly scanNo = 0,
  ) {
    this.id = wake.id;
    this.epoch = wake.epoch;
    this.name = wake.name;
    this.group = wake.group;
    this.wakeMs = wake.wakeMs;
    this.stalled = wake.stalled;
    this.failed = wake.failed;
    this.orphaned = wake.orphaned === true;
  }

  /** Whether it may still be claimed. */
  get isWatched(): boolean {
    const { state } = this;
    return state === 'wheel' || state === 'due' || state === 'ready' || state === 'claiming';
  }

  become(state: JobState): void {
    if (CHECKED) {
      const mayFollow: readonly JobState[] = NEXT[this.state];
      invariant(state === 'gone' || mayFollow.includes(state), 'a job goes on', this.state, state);
    }
    this.state = state;
  }
}

/** From each state, those that may follow. From each a job may also be `gone`: it is forgotten. */
export const NEXT = {
  /** Waits in the timing wheel. */
  wheel: ['ready'],
  /** Overdue when it was offered: ready in the next turn of the event loop. */
  due: ['ready'],
  /** In the ready queue until a claim admits it. */
  ready: ['claiming'],
  /** A claim that asks for it is in flight. Back in the ready queue if it is throttled. */
  claiming: ['claimed', 'ready', 'wheel'],
  /** This node holds its lease, and its handler waits for a slot or runs. */
  claimed: ['ended'],
  /** Its outcome is decided and not written: the row is still this node's. */
  ended: [],
  /** A claim of its row had no answer, and may yet be committed under its epoch. */
  lost: [],
  /** This node cannot read it: others may, until its `wakeMs` on `performance.now()`. */
  left: [],
  gone: [],
} as const satisfies Record<string, readonly string[]>;

export type JobState = keyof typeof NEXT;
