import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { Condition, within } from '../tasks/signal.js';
import type { Attempt } from './attempt.js';
import { Job } from './job.js';

/** Lost claims that are remembered: two of the largest claims, and their successors. */
const LOST_MAX = 20_000;

/** Delays that are left to others; more wait in their rows, for all nodes. */
const LEFT_MAX = 50_000;

const NO_WAKE = { name: '', group: null, stalled: false, failed: false };

/** States of jobs that are not watched. */
type Aside = 'claimed' | 'ended' | 'lost' | 'left';

/**
 * What this node knows of each delay. A delay that moved on may be watched, or claimed, beside its
 * own earlier claim.
 */
export class Jobs {
  /** The one that is watched, or else the latest; the others are linked behind it. */
  readonly #byId = new Map<number, Job>();
  /** Those that are not watched, by their state, oldest first. */
  readonly #in = {
    claimed: new Set<Job>(),
    ended: new Set<Job>(),
    lost: new Set<Job>(),
    left: new Set<Job>(),
  };
  readonly #idle = new Condition();
  #watched = 0;

  get watchedCount(): number {
    return this.#watched;
  }

  get runningCount(): number {
    return this.#in.claimed.size;
  }

  /** The job of that delay that may still be claimed. */
  watched(id: number): Job | undefined {
    const job = this.#byId.get(id);
    return job?.isWatched === true ? job : undefined;
  }

  allWatched(): Job[] {
    return [...this.#byId.values()].filter((job) => job.isWatched);
  }

  /** Attempts whose handlers run, or wait for a slot. */
  running(): Attempt[] {
    return listAttempts(this.#in.claimed);
  }

  /** Attempts that ended and are not written. */
  unwritten(): Attempt[] {
    return listAttempts(this.#in.ended);
  }

  /** The attempt of that delay that runs here. */
  runs(id: number): Attempt | undefined {
    return this.#find(id, 'claimed')?.attempt;
  }

  /**
   * Whether this node holds that claim of the row or a later one: a page that was read before the
   * claim may arrive after it.
   */
  covers(id: number, epoch: number): boolean {
    for (let job = this.#byId.get(id); job !== undefined; job = job.before) {
      if (job.attempt !== undefined && job.epoch >= epoch) return true;
    }
    return false;
  }

  watch(job: Job): void {
    job.before = this.#byId.get(job.id);
    this.#byId.set(job.id, job);
    this.#watched += 1;
  }

  claimed(job: Job, attempt: Attempt): void {
    this.#checkUnheld(attempt);
    job.epoch = attempt.epoch;
    job.attempt = attempt;
    this.#move(job, 'claimed');
  }

  /** The row of that attempt was claimed without being watched. */
  adopt(attempt: Attempt): Job {
    this.#checkUnheld(attempt);
    const job = this.#enter('claimed', attempt.id, attempt.epoch);
    job.attempt = attempt;
    return job;
  }

  /** Its outcome is to be written: until then the row is this node's. */
  ended(attempt: Attempt): void {
    const job = this.#holding(attempt) ?? this.adopt(attempt);
    if (job.state === 'claimed') this.#move(job, 'ended');
  }

  /** Nothing is left to write for it. */
  written(attempt: Attempt): void {
    const job = this.#holding(attempt);
    if (job !== undefined) this.forget(job);
  }

  forget(job: Job): void {
    if (job.state !== 'gone') this.#move(job, 'gone');
  }

  /**
   * A claim had no answer. It may be committed long after it was given up, for example when a
   * synchronous replica is back. Its row then has this node's lease while no handler runs it;
   * unremembered, it would wait for the end of the lease and lose an attempt. The row names only the
   * node, which a restarted process shares with its predecessor.
   * @param epoch what the row has if the claim was committed
   */
  lose(id: number, epoch: number): void {
    const { lost } = this.#in;
    this.found(id);
    this.#enter('lost', id, epoch);
    const [oldest] = lost;
    if (lost.size > LOST_MAX && oldest !== undefined) this.forget(oldest);
  }

  /** Whether the row has such a claim. A later epoch proves that the claim is over. */
  isLost(id: number, epoch: number): boolean {
    const lost = this.#find(id, 'lost');
    if (lost !== undefined && epoch > lost.epoch) this.forget(lost);
    return epoch === lost?.epoch;
  }

  /** The row is gone, claimed with an answer, or given back. */
  found(id: number): void {
    const lost = this.#find(id, 'lost');
    if (lost !== undefined) this.forget(lost);
  }

  /** This node cannot read that row: others may, until `wakeMs` on `performance.now()`. */
  leave(id: number, epoch: number, wakeMs: number): void {
    const known = this.#find(id, 'left');
    if (known !== undefined) this.forget(known);
    if (this.mayLeave) this.#enter('left', id, epoch, wakeMs);
  }

  /**
   * Whether this node leaves that row to others: it is as this node left it, or another node has
   * refused it since. A row that was written anew may be tried by each node.
   */
  isLeft({ id, epoch, refused }: Pick<Wake, 'id' | 'epoch' | 'refused'>): boolean {
    const left = this.#find(id, 'left');
    if (left === undefined || epoch < left.epoch) return false;
    const isSame = epoch === left.epoch || refused === true;
    if (isSame && performance.now() < left.wakeMs) return true;
    this.forget(left);
    return false;
  }

  /** Whether one more can be left to others and remembered. */
  get mayLeave(): boolean {
    const nowMs = performance.now();
    for (const left of this.#in.left) {
      if (left.wakeMs > nowMs) break;
      this.forget(left);
    }
    return this.#in.left.size < LEFT_MAX;
  }

  /** Nodes came or went: this node may be the only one left. */
  leaveNothing(): void {
    for (const left of this.#in.left) this.forget(left);
  }

  /** These delays are being cancelled: ends the attempts that run here under those claims. */
  abort(claims: readonly { id: number; epoch: number }[]): void {
    for (const { id, epoch } of claims) {
      const attempt = this.runs(id);
      if (attempt?.epoch === epoch) attempt.holder.abort(attempt);
    }
  }

  /** The node is ending: tells all handlers to give up. */
  close(): void {
    for (const { holder } of this.running()) holder.close();
  }

  /** Resolves when nothing runs, or after `withinMs`. */
  async whenIdle(withinMs: number): Promise<void> {
    if (this.runningCount > 0) await within(this.#idle.next, withinMs);
  }

  #find(id: number, state: Aside): Job | undefined {
    if (this.#in[state].size === 0) return undefined;
    let job = this.#byId.get(id);
    while (job !== undefined && job.state !== state) job = job.before;
    return job;
  }

  #holding(attempt: Attempt): Job | undefined {
    let job = this.#byId.get(attempt.id);
    while (job !== undefined && job.attempt !== attempt) job = job.before;
    return job;
  }

  #checkUnheld({ id, epoch }: Attempt): void {
    if (CHECKED) invariant(this.runs(id)?.epoch !== epoch, 'one claim of an epoch', epoch);
  }

  /** In front of the others, but behind the one that is watched. */
  #enter(state: Aside, id: number, epoch: number, wakeMs = 0): Job {
    const job = new Job({ ...NO_WAKE, id, epoch, wakeMs }, state);
    const watched = this.watched(id);
    job.before = watched === undefined ? this.#byId.get(id) : watched.before;
    if (watched === undefined) this.#byId.set(id, job);
    else watched.before = job;
    this.#in[state].add(job);
    return job;
  }

  #move(job: Job, to: 'claimed' | 'ended' | 'gone'): void {
    const from = job.state;
    if (job.isWatched) this.#watched -= 1;
    else this.#in[from as Aside].delete(job);
    job.become(to);
    if (to === 'gone') this.#unlink(job);
    else this.#in[to].add(job);
    if (from === 'claimed' && this.runningCount === 0) this.#idle.notify();
  }

  #unlink(job: Job): void {
    let later = this.#byId.get(job.id);
    if (later === job && job.before !== undefined) this.#byId.set(job.id, job.before);
    else if (later === job) this.#byId.delete(job.id);
    else {
      while (later !== undefined && later.before !== job) later = later.before;
      if (later !== undefined) later.before = job.before;
    }
  }
}

const listAttempts = (jobs: ReadonlySet<Job>): Attempt[] =>
  [...jobs].flatMap(({ attempt }) => attempt ?? []);
