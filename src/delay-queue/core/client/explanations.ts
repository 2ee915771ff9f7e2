import type { EndState } from '../api/delay.js';
import { inWords, printable } from '../api/error-text.js';
import type { DelayExplanation, DelayExplanationCause } from '../api/explanation.js';
import { groupNumber, spread } from '../store/rows/attempt-rows.js';
import type { Target } from '../store/rows/delay-rows.js';
import type {
  EndedLine,
  ExplainedLimit,
  ExplainedNode,
  ExplainedPause,
  ExplainedRow,
  Place,
} from '../store/sql/explain.sql.js';
import { SET_ASIDE_TEXT } from '../store/rows/row-rules.js';
import { type AttemptSurroundings, type CauseOf, LockCauses } from './lock-causes.js';

type Cause = DelayExplanationCause;

/** A load, and so a heartbeat, that is late by half of the pause between two. */
const LOADS_LATE = 1.5;

/** What the row does not tell. */
interface Surroundings extends AttemptSurroundings {
  /** Pause between two heartbeats of a node. */
  loadEveryMs: number;
}

export function explainRow(
  row: ExplainedRow,
  target: Target,
  around: Surroundings,
): DelayExplanation {
  if (row.id !== null) {
    const { id, name, key, group } = row;
    const [first, ...also] = new Explaining(row, around).causes();
    return { id, name, key, group, dueAt: new Date(row.dueMs), ...(first as Cause), also };
  }
  if (row.ended !== null) return explainEnd(row.ended, row.nowMs);
  const named = 'id' in target ? { name: null, key: null } : target;
  const what = 'id' in target ? `with the id ${target.id}` : nameAndKey(target.name, target.key);
  const text = `there is no live delay ${what}, and the history that is kept has none either`;
  return { id: null, ...named, group: null, dueAt: null, reason: 'absent', text, also: [] };
}

/** What became of a delay, by its entry in history. */
export function explainEnd(end: EndedLine, nowMs: number): DelayExplanation {
  const { id, name, key, group, dueAt, state, endedAt, latenessMs, error, node, attempts, by } =
    end;
  const on = node === null ? '' : ` on ${printable(node)}`;
  return {
    id,
    name,
    key,
    group,
    dueAt,
    reason: 'ended',
    state,
    endedAt,
    latenessMs,
    error,
    node,
    attempts,
    by,
    text: `${subject(end)} ${ENDS[state] ?? `ended as ${state}`}${on}${byWhom(by)} ${ago(nowMs - endedAt.getTime())}${because(error)}; its history has the details`,
    also: [],
  };
}

const ENDS: Readonly<Record<EndState, string>> = {
  completed: 'completed',
  cancelled: 'was cancelled',
  discarded: 'was discarded',
  superseded: 'was superseded by its own reschedule',
};

/** The causes of a live delay, from its row and what surrounds it. */
class Explaining {
  readonly #subject: string;
  readonly #nodes: readonly ExplainedNode[];
  readonly #locks: LockCauses;

  constructor(
    private readonly row: ExplainedRow,
    private readonly around: Surroundings,
  ) {
    this.#subject = subject(row);
    this.#nodes = row.nodes ?? [];
    this.#locks = new LockCauses(row, this.#subject, around);
  }

  /** The first decides; those behind it hold as well, or will. */
  causes(): Cause[] {
    const { waitsFor, wakeMs, leaseMs, nowMs } = this.row;
    switch (waitsFor?.what) {
      case undefined:
        return [this.#dead()];
      case 'due':
        return [this.#notDue(), ...this.#holds(wakeMs)];
      case 'retry':
        return [this.#retrying(), ...this.#holds(wakeMs)];
      case 'attempt':
        return this.#isOrphaned
          ? [this.#orphaned(), ...this.#holds(leaseMs as number)]
          : [
              this.#attempt(),
              ...this.#stalled(({ name }) => name === this.row.node),
              ...this.#locks.ofAttempt(),
            ];
      default: {
        const holds = this.#holds(nowMs);
        return holds.length > 0 ? holds : [this.#queued()];
      }
    }
  }

  #notDue(): CauseOf<'notDue'> {
    const { wakeMs, dueMs, nowMs } = this.row;
    const inMs = wakeMs - nowMs;
    const isDue = dueMs <= nowMs;
    return {
      reason: 'notDue',
      wakeAt: new Date(wakeMs),
      inMs,
      text: isDue
        ? `${this.#subject} was given back and will run in ${inWords(inMs)}`
        : `${this.#subject} is due in ${inWords(inMs)}`,
    };
  }

  #retrying(): CauseOf<'retrying'> {
    const { wakeMs, nowMs, attempts: attempt, maxAttempts, error } = this.row;
    const inMs = wakeMs - nowMs;
    return {
      reason: 'retrying',
      nextAt: new Date(wakeMs),
      inMs,
      attempt,
      maxAttempts,
      error,
      text: `${this.#subject} will be retried in ${inWords(inMs)}, after ${ofAll(attempt, maxAttempts)}${because(error)}`,
    };
  }

  /** A process that holds its lock is alive, even if its heartbeats are missing. */
  get #isOrphaned(): boolean {
    const { isOrphaned, isLocked, node } = this.row;
    return (
      isOrphaned || !(isLocked || this.#nodes.some(({ name, lives }) => name === node && lives))
    );
  }

  #attempt(): CauseOf<'running' | 'claimed'> {
    const { leaseMs, attempts: attempt, maxAttempts, nowMs } = this.row;
    const node = this.row.node as string;
    const since = this.#lastAttempt('startedMs');
    const { isBegun } = this.#locks;
    const pid = this.around.held?.pid;
    const [has, forMs] =
      since === null ? ['is', ''] : ['has been', ` for ${inWords(nowMs - since.getTime())}`];
    const within = pid === undefined ? '' : ` in session ${pid}`;
    const what = isBegun
      ? `running on ${printable(node)}${forMs}${within}`
      : `claimed by ${printable(node)}${forMs}, and its handler has not been called: it waits for a session`;
    return {
      reason: isBegun ? 'running' : 'claimed',
      node,
      since,
      leaseUntil: new Date(leaseMs as number),
      attempt,
      maxAttempts,
      text: `${this.#subject} ${has} ${what} (${ofAll(attempt, maxAttempts)}); its lease ends in ${inWords((leaseMs as number) - nowMs)}`,
    };
  }

  #orphaned(): CauseOf<'orphaned'> {
    const { leaseMs, attempts: attempt, maxAttempts, isOrphaned, nowMs } = this.row;
    const node = this.row.node as string;
    const heard = this.#nodes.find(({ name }) => name === node);
    const silent = isOrphaned
      ? 'whose process is gone'
      : heard === undefined
        ? 'which has left'
        : `which has been silent for ${inWords(heard.silentMs)}`;
    const taken = isOrphaned
      ? 'another process takes it over within seconds'
      : `its lease ends in ${inWords((leaseMs as number) - nowMs)}`;
    return {
      reason: 'orphaned',
      node,
      leaseEndsAt: new Date(leaseMs as number),
      silentSince: heard === undefined ? null : new Date(heard.heardMs),
      attempt,
      maxAttempts,
      text: `${this.#subject} was running on ${printable(node)}, ${silent}; ${taken}`,
    };
  }

  /** What holds it at that instant, as things are now. Limits and hanging nodes come and go. */
  #holds(atMs: number): Cause[] {
    const isDue = atMs === this.row.nowMs;
    const pauses = (this.row.pauses ?? []).filter(
      ({ untilMs }) => untilMs === null || untilMs > atMs,
    );
    const holds: Cause[] = pauses.map((pause) => this.#paused(pause));
    const serving = this.#nodes.filter(({ lives, serves }) => lives && serves);
    if (serving.length === 0) return [...holds, this.#unserved()];
    if (!isDue) return holds;
    return [
      ...holds,
      ...(this.row.limits ?? []).flatMap((limit) => this.#throttled(limit)),
      ...this.#stalledOwners(),
      ...this.#locks.ofRow(),
    ];
  }

  #paused({ group, why, by, pausedMs, untilMs }: ExplainedPause): CauseOf<'paused'> {
    const until =
      untilMs === null ? 'until it is resumed' : `for ${inWords(untilMs - this.row.nowMs)} more`;
    const said = why === null ? '' : ` (${printable(why, SHOWN_MAX)})`;
    return {
      reason: 'paused',
      group,
      pausedAt: new Date(pausedMs),
      why,
      by,
      until: untilMs === null ? null : new Date(untilMs),
      text: `${this.#whole(group)} has been paused since ${inUtc(pausedMs)}${byWhom(by)}${said}, ${until}`,
    };
  }

  #unserved(): CauseOf<'unserved'> {
    const last = this.#nodes.find(({ serves }) => serves);
    const run = this.row.lastRun;
    const [node, atMs] = last ? [last.name, last.heardMs] : run ? [run.node, run.atMs] : [];
    const was =
      node === undefined
        ? ', and none is known to have had one'
        : `; ${printable(node)} was the last, ${ago(this.row.nowMs - (atMs as number))}`;
    return {
      reason: 'unserved',
      lastServedBy: node ?? null,
      lastSeenAt: atMs === undefined ? null : new Date(atMs),
      text: `no live node has a handler of ${this.#whole(null)}${was}`,
    };
  }

  #throttled({ group, sinceMs, untilMs, of, running }: ExplainedLimit): CauseOf<'throttled'>[] {
    const common = { reason: 'throttled', group, since: new Date(sinceMs) } as const;
    const whose = this.#whole(group);
    const full: CauseOf<'throttled'>[] = [];
    if (untilMs !== null) {
      full.push({
        ...common,
        limit: 'rate',
        running: null,
        of: null,
        nextAt: new Date(untilMs),
        text: `the rate limit of ${whose} is used up and has room again in ${inWords(untilMs - this.row.nowMs)}`,
      });
    }
    if (of !== null && running >= of) {
      full.push({
        ...common,
        limit: 'concurrency',
        running,
        of,
        nextAt: null,
        text: `${whose} may run ${inAttempts(of)} at once, and ${running} ${running === 1 ? 'is' : 'are'} running`,
      });
    }
    return full;
  }

  /** If every node that serves it is late with its heartbeat, or the one that owns it. */
  #stalledOwners(): CauseOf<'nodeStalled'>[] {
    const all = this.#stalled(({ serves }) => serves);
    if (all.length > 0) return all;
    const { id, group, isByGroup } = this.row;
    const sharing = this.#nodes
      .filter(({ lives, serves, isIdle }) => lives && serves && !isIdle)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const number = group !== null && isByGroup ? groupNumber(group) : Number(id);
    const owner = sharing[spread(number) % sharing.length];
    return this.#stalled((node) => node === owner, `, which owns ${this.#subject},`);
  }

  /** If all of these nodes that live are late with their heartbeats. */
  #stalled(those: (node: ExplainedNode) => boolean, which = ''): CauseOf<'nodeStalled'>[] {
    const alive = this.#nodes.filter((node) => node.lives && those(node));
    const nodes = alive.map(({ name, silentMs }) => ({ name, silentMs }));
    const silentMs = Math.min(...nodes.map((node) => node.silentMs));
    if (nodes.length === 0 || silentMs <= this.around.loadEveryMs * LOADS_LATE) return [];
    const who = nodes.map(({ name }) => printable(name)).join(', ');
    const text =
      nodes.length === 1
        ? `${who}${which} has sent no heartbeat for ${inWords(silentMs)} and seems to hang`
        : `none of ${who} has sent a heartbeat for ${inWords(silentMs)}: they seem to hang`;
    return [{ reason: 'nodeStalled', silentMs, nodes, text }];
  }

  #queued(): CauseOf<'queued'> {
    const { wakeMs, leaseMs, group, nowMs } = this.row;
    const place = this.row.place as Place;
    const since = Math.max(wakeMs, leaseMs ?? wakeMs);
    const nodes = this.#nodes
      .filter(({ lives, serves }) => lives && serves)
      .map(({ name }) => ({ name, running: place.running?.[name] ?? 0 }));
    const running = nodes.reduce((sum, node) => sum + node.running, 0);
    const atLeast = place.atLeast ? 'at least ' : '';
    const many = place.inName === 0 && !place.atLeast ? 'no' : `${atLeast}${place.inName}`;
    const before =
      place.inName === 1 || many === 'no' ? 'delay of its name comes' : 'delays of its name come';
    const ofGroup = group === null || many === 'no' ? '' : `, ${place.inGroup} of its group`;
    const serves = nodes.length === 1 ? '1 node serves' : `${nodes.length} nodes serve`;
    const runs = `${nodes.length === 1 ? 'runs' : 'run'} ${atLeast}${running}`;
    return {
      reason: 'queued',
      since: new Date(since),
      beforeInName: place.inName,
      beforeInGroup: group === null ? null : place.inGroup,
      atLeast: place.atLeast,
      nodes,
      text: `${this.#subject} has been due for ${inWords(nowMs - since)} and ${running === 0 && many === 'no' ? 'no node has claimed it yet' : 'waits for a slot'}: ${many} ${before} before it${ofGroup}; ${serves} the name and ${runs}`,
    };
  }

  #dead(): CauseOf<'dead' | 'unreadable'> {
    const { error, attempts, nowMs } = this.row;
    if (error?.startsWith(SET_ASIDE_TEXT) === true) {
      const text = `${this.#subject} was set aside: ${printable(error.slice(SET_ASIDE_TEXT.length), SHOWN_MAX)}`;
      return { reason: 'unreadable', error, text };
    }
    const since = this.#lastAttempt('endedMs');
    const is =
      since === null
        ? 'is a dead letter'
        : `has been a dead letter for ${inWords(nowMs - since.getTime())}`;
    return {
      reason: 'dead',
      since,
      attempts,
      error,
      text: `${this.#subject} ${is}, after ${inAttempts(attempts)}${because(error)}`,
    };
  }

  #lastAttempt(field: 'startedMs' | 'endedMs'): Date | null {
    const ms: unknown = Object(this.row.lastAttempt)[field];
    return typeof ms === 'number' ? new Date(ms) : null;
  }

  #whole(group: string | null): string {
    const name = printable(this.row.name);
    return group === null ? name : `the group ${printable(group)} of ${name}`;
  }
}

/** Characters of a text of others in a sentence. */
const SHOWN_MAX = 200;

const nameAndKey = (name: string, key: string): string => `${printable(name)} ${printable(key)}`;

const subject = ({ name, key, id }: { name: string; key: string | null; id: string }): string =>
  key === null ? `${printable(name)} (id ${id})` : nameAndKey(name, key);

const because = (error: string | null): string =>
  error === null ? '' : `: ${printable(error, SHOWN_MAX)}`;

const byWhom = (by: string | null): string => (by === null ? '' : ` by ${printable(by)}`);

const inAttempts = (many: number): string => `${many} attempt${many === 1 ? '' : 's'}`;

const ofAll = (attempt: number, maxAttempts: number | null): string =>
  maxAttempts === null ? `attempt ${attempt}` : `attempt ${attempt} of ${maxAttempts}`;

const ago = (ms: number): string => `${inWords(ms)} ago`;

const inUtc = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
