import type { DelayEvents } from '../api/events.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { groupNumber } from '../store/rows/attempt-rows.js';
import { groupText, texts, type Wake } from '../store/rows/delay-rows.js';
import { TaskHealth } from '../tasks/recurring-task.js';

/** A wake in a hint. Any role can read hints, so a group, perhaps a customer, is a number. */
export type HintedWake = Omit<Wake, 'group'> & { groupNumber: number | null };

/** An attempt of that name and group has ended. */
export interface Vacancy {
  name: string;
  groupNumber: number | null;
}

/**
 * What nodes send each other by NOTIFY. Only ever a hint: correctness never needs it. Any role that
 * can connect can send one, so it only brings a read of the rows forward.
 */
export type Hint =
  | { kind: 'wakes'; wakes: HintedWake[] }
  /** Their owner could not read these; another node that serves their names may. */
  | { kind: 'passed'; wakes: HintedWake[] }
  /** Attempts of these delays are to end, if their rows confirm it. */
  | { kind: 'abort'; ids: number[] }
  /** That node joined. Without a name: a node left, or nodes may have changed unnoticed. */
  | { kind: 'nodes'; came?: string }
  /** Attempts of these names and groups ended: a slot under their limits may be free. */
  | { kind: 'vacant'; of: Vacancy[] }
  /** A node checks whether LISTEN works here. */
  | { kind: 'probe'; nonce: string };

/** Postgres accepts less than 8,000 bytes. */
const BYTES_MAX = 7_900;

/** The last two are sent only if they carry something. */
type WakeTuple = [
  id: number,
  epoch: number,
  name: string,
  wakeMs: number,
  failed?: 0 | 1,
  groupNumber?: number,
];

/** Encodes wakes in as few texts as the size limit of NOTIFY allows. */
export function encodeWakes(wakes: readonly Wake[], kind: 'w' | 'u' = 'w'): string[] {
  const tuples = wakes.map(({ id, epoch, name, group, wakeMs, failed }) => {
    const tuple: WakeTuple = [id, epoch, name, wakeMs];
    if (group !== null) tuple.push(failed ? 1 : 0, groupNumber(group));
    else if (failed) tuple.push(1);
    return tuple;
  });
  return packed(kind, tuples);
}

export const encodeAborts = (ids: readonly number[]): string[] => packed('a', ids);

export const encodeVacant = (of: readonly Pick<Wake, 'name' | 'group'>[]): string[] =>
  packed(
    'v',
    of.map(({ name, group }) => (group === null ? [name] : [name, groupNumber(group)])),
  );

function packed(kind: string, tuples: readonly unknown[]): string[] {
  const packets: string[] = [];
  let items: string[] = [];
  let bytes = 0;
  for (const tuple of tuples) {
    const item = JSON.stringify(tuple);
    const length = Buffer.byteLength(item);
    if (bytes + length + 3 > BYTES_MAX) {
      packets.push(`${kind}[${items.join()}]`);
      items = [];
      bytes = 0;
    }
    items.push(item);
    bytes += length + 1;
  }
  if (items.length > 0) packets.push(`${kind}[${items.join()}]`);
  return packets;
}

export const nodesHint = (came = ''): string => `n${came}`;

export const probeHint = (nonce: string): string => `p${nonce}`;

/** Undefined for anything that is not a hint: any role that can connect can NOTIFY. */
export function parseHint(text: string): Hint | undefined {
  if (text.startsWith('n'))
    return text === 'n' ? { kind: 'nodes' } : { kind: 'nodes', came: text.slice(1) };
  if (text.startsWith('p')) return { kind: 'probe', nonce: text.slice(1) };
  try {
    if (text.startsWith('w')) return wakesIn('wakes', JSON.parse(text.slice(1)));
    if (text.startsWith('u')) return wakesIn('passed', JSON.parse(text.slice(1)));
    if (text.startsWith('a')) return abortsIn(JSON.parse(text.slice(1)));
    if (text.startsWith('v')) return vacantIn(JSON.parse(text.slice(1)));
  } catch {
    // Not JSON, or JSON without lists.
  }
  return undefined;
}

function wakesIn(kind: 'wakes' | 'passed', tuples: unknown): Hint | undefined {
  if (!Array.isArray(tuples) || !tuples.every(isWakeTuple)) return undefined;
  const wakes = tuples.map(([id, epoch, name, wakeMs, failed, number]) => ({
    id,
    epoch,
    name,
    groupNumber: number ?? null,
    wakeMs,
    stalled: false,
    failed: failed === 1,
    ...(kind === 'passed' ? { refused: true } : {}),
  }));
  return { kind, wakes };
}

const abortsIn = (ids: unknown): Hint | undefined =>
  Array.isArray(ids) && ids.every(isId) ? { kind: 'abort', ids } : undefined;

function vacantIn(tuples: unknown): Hint | undefined {
  if (!Array.isArray(tuples) || !tuples.every(isVacantTuple)) return undefined;
  return {
    kind: 'vacant',
    of: tuples.map(([name, number]) => ({ name, groupNumber: number ?? null })),
  };
}

const isVacantTuple = (value: unknown): value is [name: string, groupNumber?: number] =>
  Array.isArray(value) && typeof value[0] === 'string' && isGroupNumber(value[1]);

/** A group's number, or undefined for none. */
const isGroupNumber = (value: unknown): boolean =>
  value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0);

/** @throws TypeError for a value that is not a list */
function isWakeTuple(value: unknown): value is WakeTuple {
  const [id, epoch, name, wakeMs, , number] = value as unknown[];
  const isOfClaim = isId(id) && Number.isSafeInteger(epoch) && (epoch as number) >= 0;
  const isOfWake = typeof name === 'string' && Number.isFinite(wakeMs);
  return isOfClaim && isOfWake && isGroupNumber(number);
}

const isId = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0;

const HINTS = byPurpose({
  hint: 'SELECT pg_catalog.pg_notify($1::text, hint) FROM pg_catalog.unnest($2::text[]) AS hint',
});

/** Most queued wakes. The other nodes' loaders find the rest. */
const QUEUE_MAX = 10_000;

/**
 * Sends hints about delays that are due soon, off the write path: after the commit, coalesced, on
 * one of the engine's own connections. A NOTIFY inside the caller's transaction would take a lock
 * on the whole server at its commit (16 clients: 6,721 against 2,649 transactions/s).
 */
export class Notifier {
  readonly #health: TaskHealth;
  #wakes: Wake[] = [];
  #passed: Wake[] = [];
  /** By text, so that each is sent once. */
  #vacant = new Map<string, Pick<Wake, 'name' | 'group'>>();
  #sending: Promise<void> | undefined;

  constructor(
    private readonly runner: Runner,
    private readonly channel: string,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'hint');
  }

  send(wake: Wake): void {
    if (this.#wakes.length < QUEUE_MAX) this.#wakes.push(wake);
    this.#sending ??= this.#sendAll();
  }

  /** This node could not read the delay; others may. */
  sendPassed(wake: Wake): void {
    if (this.#passed.length < QUEUE_MAX) this.#passed.push(wake);
    this.#sending ??= this.#sendAll();
  }

  /** An attempt of a name with limits has ended: other nodes may wait for its slot. */
  sendVacant(name: string, group: string | null): void {
    if (this.#vacant.size < QUEUE_MAX) this.#vacant.set(groupText(name, group), { name, group });
    this.#sending ??= this.#sendAll();
  }

  /** Notifies other nodes that this one joined, or, without a name, that one left. */
  async nodesChanged(came?: string): Promise<void> {
    await this.#notify([nodesHint(came)]);
  }

  /** Lets the nodes that run these delays check whether their attempts are to end. */
  async abort(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.#notify(encodeAborts(ids));
  }

  async drain(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    // All that commits in this turn of the event loop is sent together.
    await new Promise(setImmediate);
    while (this.#wakes.length > 0 || this.#passed.length > 0 || this.#vacant.size > 0) {
      const hints = [
        ...encodeWakes(this.#wakes),
        ...encodeWakes(this.#passed, 'u'),
        ...encodeVacant([...this.#vacant.values()]),
      ];
      this.#wakes = [];
      this.#passed = [];
      this.#vacant = new Map();
      await this.#notify(hints);
    }
    // In the same turn as the check above: a wake that comes now starts a new round.
    this.#sending = undefined;
  }

  async #notify(hints: readonly string[]): Promise<void> {
    try {
      await this.runner.query(HINTS.hint, [this.channel, texts(hints)]);
      this.#health.worked();
    } catch (error) {
      this.#health.failed(error);
    }
  }
}
