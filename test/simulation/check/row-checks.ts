import { isDead, wakeOf, type Micros, type Row } from '../postgres/row.js';
import type { Change, Commit } from '../postgres/tables.js';
import type { World } from '../world.js';
import { type Write, WRITES } from '../../support/state-machine.js';
import type { RunChecks } from './run-checks.js';

const shown = (row: Row): string => `${row.name} ${row.id}/${row.epoch}`;

type Rule = (before: Row, after: Row | undefined, now: Micros) => boolean;

const isLeased = (row: Row): boolean => row.leasedBy !== null;
const isFree = (row: Row, now: Micros): boolean => !isLeased(row) || (row.leasedUntil ?? 0) <= now;

const NEEDS: Record<Write['needs'], (before: Row, now: Micros) => boolean> = {
  none: () => false,
  free: isFree,
  held: isLeased,
  dead: isDead,
};

const ATTEMPTS: Record<Write['attempts'], (before: Row, after: Row) => boolean> = {
  none: (_, after) => after.attempts === 0,
  'one more': (before, after) => after.attempts === before.attempts + 1,
  stay: (before, after) => after.attempts === before.attempts,
  'one less': (before, after) => after.attempts === before.attempts - 1,
  gone: () => false,
};

const ruleOf =
  ({ needs, epoch, attempts, lease, wake }: Write): Rule =>
  (before, after, now) => {
    if (!NEEDS[needs](before, now)) return false;
    if (after === undefined || epoch === 'gone') return after === undefined && epoch === 'gone';
    return (
      after.epoch === before.epoch + (epoch === 'rises' ? 1 : 0) &&
      ATTEMPTS[attempts](before, after) &&
      isLeased(after) === (lease === 'taken') &&
      (wake === 'as it was' ? after.wakeAt === before.wakeAt : true) &&
      isDead(after) === (wake === '`infinity`')
    );
  };

/** What a claim and a renewal need beside what the table of the document says. */
const MORE: Partial<Record<string, Rule>> = {
  claim: (before, _, now) => wakeOf(before) <= now && before.dueAt <= now,
  renew: (before, after) => after?.leasedBy === before.leasedBy,
  bury: (before) => !isDead(before),
};

/** What each statement may do to a row; anything else is a forbidden transition. */
function isAllowed(by: string, before: Row, after: Row | undefined, now: Micros): boolean {
  const statement = by.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const writes = Object.values(WRITES).filter((write) => write.statement === statement);
  return (
    writes.some((write) => ruleOf(write)(before, after, now)) &&
    MORE[by]?.(before, after, now) !== false
  );
}

/** Watches what is committed, row by row, as a trigger on the table would. */
export class RowChecks {
  readonly #gone = new Set<number>();
  /** How many rows ended, and how. */
  readonly ends = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly runs: RunChecks,
    /** Attempts that a row without a number of its own has. */
    private readonly attemptsMax: (name: string) => number,
    private readonly isFenced: (name: string) => boolean,
  ) {}

  committed(commit: Commit, now: Micros): void {
    for (const change of commit.changes) this.#changed(change, now);
    for (const line of commit.ended) {
      this.ends.set(line.state, (this.ends.get(line.state) ?? 0) + 1);
      if (line.state === 'completed') this.#completed(line.name, line.id, line.epoch, commit);
      if (line.state === 'cancelled') this.runs.cancelled(line.id);
    }
    for (const { id, epoch } of commit.effects) this.#hadEffect(id, epoch, commit);
  }

  #changed({ by, before, after }: Change, now: Micros): void {
    const { world } = this;
    const row = after ?? before;
    if (world.isTraced && row) {
      const from = before ? `${before.epoch}` : 'nothing';
      world.note('db', `${by}: ${shown(row)} from ${from}${after ? '' : ', gone'}`);
    }
    if (after && this.#gone.has(after.id)) world.violate(`${shown(after)} came back by ${by}`);
    if (after === undefined && before) this.#gone.add(before.id);
    if (before === undefined) {
      if (by !== 'place') world.violate(`${by} made a row`);
      return;
    }
    if (!isAllowed(by, before, after, now)) {
      world.violate(`${by} may not make ${JSON.stringify(after)} of ${JSON.stringify(before)}`);
    }
    if (by === 'claim' && after && (isLeased(before) || before.lastError !== null)) {
      this.runs.claimedAlone(after);
    }
    if (by === 'settle' && after) this.#settled(before, after);
    if (world.scenario.isCalm && by === 'claim' && isLeased(before)) {
      world.violate(`${shown(before)} was taken from its node, and nothing was wrong`);
    }
    const attemptsMax = before.maxAttempts ?? this.attemptsMax(before.name);
    if (after && after.attempts > attemptsMax) {
      world.violate(`${shown(after)} has ${after.attempts} attempts of ${attemptsMax}`);
    }
  }

  /** Nobody pays an attempt for a batch that failed. */
  #settled(before: Row, after: Row): void {
    const isFailure = after.lastError !== before.lastError;
    if (!isFailure || !this.runs.isInnocent(before)) return;
    const isSplit = after.attempts === before.attempts - 1 && after.dueAt === before.dueAt;
    if (!isSplit) this.world.violate(`${shown(before)} pays for its batch: ${after.lastError}`);
  }

  #completed(name: string, id: number, epoch: number, commit: Commit): void {
    if (!this.runs.hasSucceeded(id, epoch)) {
      this.world.violate(`${name} ${id}/${epoch} is complete, and its handler did not succeed`);
    }
    const effects = commit.effects.filter((each) => each.id === id && each.epoch === epoch);
    const expected = this.isFenced(name) ? 1 : 0;
    if (effects.length !== expected) {
      this.world.violate(`${name} ${id}/${epoch} completed with ${effects.length} effects`);
    }
  }

  /** Effects of a fenced attempt commit with the end of that attempt, or not at all. */
  #hadEffect(id: number, epoch: number, commit: Commit): void {
    const isEnd = ({ by, before }: Change): boolean =>
      (by === 'complete' || by === 'moveOn') && before?.id === id && before.epoch === epoch;
    if (!commit.changes.some(isEnd)) {
      this.world.violate(`an effect of ${id}/${epoch} was committed without the attempt's end`);
    }
  }
}
