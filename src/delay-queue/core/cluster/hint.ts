import { byPurpose } from '../database/prepared-statements.js';
import { groupNumber } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';

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
type HintTuple = [
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
    const tuple: HintTuple = [id, epoch, name, wakeMs];
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
  const read = LISTS.get(text.charAt(0));
  if (read === undefined) return undefined;
  try {
    const list: unknown = JSON.parse(text.slice(1));
    return Array.isArray(list) ? read(list) : undefined;
  } catch {
    // Not JSON, or JSON without lists.
    return undefined;
  }
}

/** How the lists of hints are read, by the letter in front of them. */
const LISTS = new Map<string, (list: unknown[]) => Hint | undefined>([
  ['w', (tuples) => wakesIn('wakes', tuples)],
  ['u', (tuples) => wakesIn('passed', tuples)],
  ['a', (ids) => (ids.every(isId) ? { kind: 'abort', ids } : undefined)],
  ['v', vacantIn],
]);

function wakesIn(kind: 'wakes' | 'passed', tuples: unknown[]): Hint | undefined {
  if (!tuples.every(isHintTuple)) return undefined;
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

function vacantIn(tuples: unknown[]): Hint | undefined {
  if (!tuples.every(isVacantTuple)) return undefined;
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
function isHintTuple(value: unknown): value is HintTuple {
  const [id, epoch, name, wakeMs, , number] = value as unknown[];
  const isOfClaim = isId(id) && Number.isSafeInteger(epoch) && (epoch as number) >= 0;
  const isOfWake = typeof name === 'string' && Number.isFinite(wakeMs);
  return isOfClaim && isOfWake && isGroupNumber(number);
}

const isId = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0;

export const HINTS = byPurpose({
  hint: 'SELECT pg_catalog.pg_notify($1::text, hint)::text AS sent FROM pg_catalog.unnest($2::text[]) AS hint',
});
