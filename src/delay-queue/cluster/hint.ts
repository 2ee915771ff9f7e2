import type { Wake } from '../store/wire/wakes.js';

/** What nodes tell each other through NOTIFY: only ever a hint, never needed for correctness. */
export type Hint =
  | { kind: 'wakes'; wakes: Wake[] }
  /** That node came, or, without a name, one went, or may have done either unheard. */
  | { kind: 'nodes'; came?: string }
  /** A node asks itself whether LISTEN works here. */
  | { kind: 'probe'; nonce: string };

/** Postgres takes less than 8,000 bytes. Names are ASCII, so characters are bytes. */
const BYTES_MAX = 7_900;

/** The last one stands only after a failure, which is rare. */
type WakeTuple = [id: number, epoch: number, name: string, wakeMs: number, failed?: 1];

/** As few texts as the limit of NOTIFY allows. */
export function encodeWakes(wakes: readonly Wake[]): string[] {
  const texts: string[] = [];
  let items: string[] = [];
  let bytes = 0;
  for (const { id, epoch, name, wakeMs, failed } of wakes) {
    const tuple: WakeTuple = [id, epoch, name, wakeMs];
    if (failed) tuple.push(1);
    const item = JSON.stringify(tuple);
    if (bytes + item.length + 3 > BYTES_MAX) {
      texts.push(`w[${items.join()}]`);
      items = [];
      bytes = 0;
    }
    items.push(item);
    bytes += item.length + 1;
  }
  if (items.length > 0) texts.push(`w[${items.join()}]`);
  return texts;
}

export const nodesHint = (came = ''): string => `n${came}`;

export const probeHint = (nonce: string): string => `p${nonce}`;

/** Undefined for anything that is not a hint: whoever can connect can NOTIFY. */
export function parseHint(text: string): Hint | undefined {
  if (text.startsWith('n'))
    return text === 'n' ? { kind: 'nodes' } : { kind: 'nodes', came: text.slice(1) };
  if (text.startsWith('p')) return { kind: 'probe', nonce: text.slice(1) };
  if (!text.startsWith('w')) return undefined;
  try {
    const tuples: unknown = JSON.parse(text.slice(1));
    if (!Array.isArray(tuples) || !tuples.every(isWakeTuple)) return undefined;
    const wakes = tuples.map(([id, epoch, name, wakeMs, failed]) => ({
      id,
      epoch,
      name,
      wakeMs,
      stalled: false,
      failed: failed === 1,
    }));
    return { kind: 'wakes', wakes };
  } catch {
    return undefined;
  }
}

function isWakeTuple(value: unknown): value is WakeTuple {
  if (!Array.isArray(value)) return false;
  const [id, epoch, name, wakeMs] = value as unknown[];
  return (
    Number.isSafeInteger(id) &&
    (id as number) > 0 &&
    Number.isSafeInteger(epoch) &&
    (epoch as number) >= 0 &&
    typeof name === 'string' &&
    Number.isFinite(wakeMs)
  );
}
