import type { Wake } from '../store/wire/wakes.js';

/** One claim of a row: that of no earlier and of no later attempt. */
export interface ClaimRef {
  id: number;
  epoch: number;
}

/** What nodes tell each other through NOTIFY: only ever a hint, never needed for correctness. */
export type Hint =
  | { kind: 'wakes'; wakes: Wake[] }
  /** Their owner could not read these; another node that serves their names may. */
  | { kind: 'passed'; wakes: Wake[] }
  /** These delays are being cancelled: the attempts of those claims are to end. */
  | { kind: 'abort'; claims: ClaimRef[] }
  /** That node came, or, without a name, one went, or may have done either unheard. */
  | { kind: 'nodes'; came?: string }
  /** Attempts of these names and groups are over: who waits for a place under their limits may look. */
  | { kind: 'vacant'; of: Pick<Wake, 'name' | 'group'>[] }
  /** A node asks itself whether LISTEN works here. */
  | { kind: 'probe'; nonce: string };

/** Postgres takes less than 8,000 bytes. */
const BYTES_MAX = 7_900;

/** The last two stand only where they say something. */
type WakeTuple = [
  id: number,
  epoch: number,
  name: string,
  wakeMs: number,
  failed?: 0 | 1,
  group?: string,
];

/** As few texts as the limit of NOTIFY allows. */
export function encodeWakes(wakes: readonly Wake[], kind: 'w' | 'u' = 'w'): string[] {
  const tuples = wakes.map(({ id, epoch, name, group, wakeMs, failed }) => {
    const tuple: WakeTuple = [id, epoch, name, wakeMs];
    if (group !== null) tuple.push(failed ? 1 : 0, group);
    else if (failed) tuple.push(1);
    return tuple;
  });
  return packed(kind, tuples);
}

/** As few texts as the limit of NOTIFY allows. */
export const encodeAborts = (claims: readonly ClaimRef[]): string[] =>
  packed(
    'a',
    claims.map(({ id, epoch }) => [id, epoch]),
  );

/** As few texts as the limit of NOTIFY allows. */
export const encodeVacant = (of: readonly Pick<Wake, 'name' | 'group'>[]): string[] =>
  packed(
    'v',
    of.map(({ name, group }) => (group === null ? [name] : [name, group])),
  );

function packed(kind: string, tuples: readonly (readonly unknown[])[]): string[] {
  const texts: string[] = [];
  let items: string[] = [];
  let bytes = 0;
  for (const tuple of tuples) {
    const item = JSON.stringify(tuple);
    const length = Buffer.byteLength(item);
    if (bytes + length + 3 > BYTES_MAX) {
      texts.push(`${kind}[${items.join()}]`);
      items = [];
      bytes = 0;
    }
    items.push(item);
    bytes += length + 1;
  }
  if (items.length > 0) texts.push(`${kind}[${items.join()}]`);
  return texts;
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
    // No JSON.
  }
  return undefined;
}

function wakesIn(kind: 'wakes' | 'passed', tuples: unknown): Hint | undefined {
  if (!Array.isArray(tuples) || !tuples.every(isWakeTuple)) return undefined;
  const wakes = tuples.map(([id, epoch, name, wakeMs, failed, group]) => ({
    id,
    epoch,
    name,
    group: group ?? null,
    wakeMs,
    stalled: false,
    failed: failed === 1,
    ...(kind === 'passed' ? { refused: true } : {}),
  }));
  return { kind, wakes };
}

function abortsIn(tuples: unknown): Hint | undefined {
  if (!Array.isArray(tuples) || !tuples.every(isClaimTuple)) return undefined;
  return { kind: 'abort', claims: tuples.map(([id, epoch]) => ({ id, epoch })) };
}

function vacantIn(tuples: unknown): Hint | undefined {
  if (!Array.isArray(tuples) || !tuples.every(isVacantTuple)) return undefined;
  return { kind: 'vacant', of: tuples.map(([name, group]) => ({ name, group: group ?? null })) };
}

const isVacantTuple = (value: unknown): value is [name: string, group?: string] =>
  Array.isArray(value) &&
  (value.length === 1 || value.length === 2) &&
  value.every((part) => typeof part === 'string');

function isWakeTuple(value: unknown): value is WakeTuple {
  if (!isClaimTuple(value)) return false;
  const [, , name, wakeMs, , group] = value as unknown[];
  return (
    typeof name === 'string' &&
    Number.isFinite(wakeMs) &&
    (group === undefined || typeof group === 'string')
  );
}

function isClaimTuple(value: unknown): value is [id: number, epoch: number] {
  if (!Array.isArray(value)) return false;
  const [id, epoch] = value as unknown[];
  return (
    Number.isSafeInteger(id) &&
    (id as number) > 0 &&
    Number.isSafeInteger(epoch) &&
    (epoch as number) >= 0
  );
}
