import { ignoreRejection } from '../api/adopted.js';
import type { ScheduleItem } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { blamedOn, readable } from '../config/blame.js';
import { checkKnownOptions, isPlainArray } from '../config/known-options.js';
import { checkId, checkKey, checkName } from '../config/names.js';
import type { Payloads } from '../config/payloads.js';
import { type ParsedSchedule, parseScheduleItem } from '../config/schedule-options.js';
import { keyText, type NewDelay } from '../store/rows/delay-rows.js';

/** Most items in one call. More of them belong in several transactions. */
const ITEMS_MAX = 10_000;

/** Most payload in one `scheduleMany`, in UTF-16 units: one statement carries all of it. */
const PAYLOADS_LENGTH_MAX = 32 * 1_048_576;

export interface NameAndKey<N extends string = string> {
  name: N;
  key: string;
}

/** @throws DelayInvalidError naming the argument */
export function nameAndKeyOf<N extends string>(
  name: N,
  key: unknown,
  options: unknown = {},
): NameAndKey<N> {
  checkKnownOptions(options, 'options', ['manager']);
  return { name: checkName(name) as N, key: checkKey(key) };
}

export type Target = NameAndKey | { id: number };

/** @throws DelayInvalidError naming the item, also for duplicates */
export function targetsOf(targets: unknown): Target[] {
  const length = readable('targets', () => lengthOf(targets, 'targets'));
  const seen = new Set<string>();
  return Array.from({ length }, (_, index) => {
    const item = readable(`targets[${index}]`, () => (targets as unknown[])[index]);
    return blamedOn(`targets[${index}]`, () => {
      const { name, key, id } = checkKnownOptions(item, 'target', ['name', 'key', 'id']);
      if (id !== undefined && (name !== undefined || key !== undefined)) {
        throw new DelayInvalidError('id', 'give either id, or name and key, not both');
      }
      const target =
        id === undefined ? { name: checkName(name), key: checkKey(key) } : { id: checkId(id) };
      const text = 'id' in target ? String(target.id) : keyText(target);
      if (seen.has(text)) {
        throw new DelayInvalidError('id' in target ? 'id' : 'key', 'appears twice in the list');
      }
      seen.add(text);
      return target;
    });
  });
}

/**
 * @returns a promise only if a schema or the codec returns one
 * @throws DelayInvalidError naming the argument
 */
export function newDelayOf(
  name: unknown,
  payload: unknown,
  options: ParsedSchedule,
  payloads: Payloads,
): NewDelay | Promise<NewDelay> {
  const draft = { name: checkName(name), payload: payloads.jsonOf(payload), ...options };
  const stored = payloads.stored(draft.payload, draft);
  if (!(stored instanceof Promise)) return { ...draft, payload: stored };
  // Another argument may be refused before this is awaited; its own error is dropped then.
  return ignoreRejection(stored.then((text) => ({ ...draft, payload: text })));
}

/**
 * @returns a promise only if a schema or the codec returns one
 * @throws DelayInvalidError naming the item, also for duplicate keys
 */
export function newDelaysOf(
  items: readonly ScheduleItem[],
  payloads: Payloads,
): NewDelay[] | Promise<NewDelay[]> {
  const length = readable('items', () => lengthOf(items, 'items'));
  const seen = new Set<string>();
  const size = new SizeOfAll();
  // By index: `map` skips holes, and an array may override `map`.
  const drafts = Array.from({ length }, (_, index) => {
    const item = readable(`items[${index}]`, () => items[index]);
    return blamedOn(`items[${index}]`, () => {
      const { name, payload, options } = parseScheduleItem(item);
      const delay = { name: checkName(name), payload: payloads.jsonOf(payload), ...options };
      size.add(delay.payload);
      if (delay.key === null) return delay;
      const key = keyText(delay);
      if (seen.has(key)) throw new DelayInvalidError('key', 'appears twice for this name');
      seen.add(key);
      return delay;
    });
  });
  return storedAll(drafts, payloads);
}

/** One payload at a time, to bound memory: each starts when the previous promise has resolved. */
function storedAll(
  drafts: NewDelay[],
  payloads: Payloads,
  from = 0,
  size = new SizeOfAll(),
): NewDelay[] | Promise<NewDelay[]> {
  const take = (index: number, text: string): void => {
    size.add(text);
    (drafts[index] as NewDelay).payload = text;
  };
  for (let index = from; index < drafts.length; index++) {
    const draft = drafts[index] as NewDelay;
    const item = `items[${index}]`;
    const stored = blamedOn(item, () => payloads.stored(draft.payload, draft));
    if (stored instanceof Promise) {
      const rest = async (): Promise<NewDelay[]> => {
        const text = await stored.catch((error: unknown) =>
          blamedOn(item, () => {
            throw error;
          }),
        );
        blamedOn(item, () => take(index, text));
        return storedAll(drafts, payloads, index + 1, size);
      };
      return ignoreRejection(rest());
    }
    blamedOn(item, () => take(index, stored));
  }
  return drafts;
}

class SizeOfAll {
  #length = 0;

  /** @throws DelayInvalidError */
  add(text: string): void {
    this.#length += text.length;
    if (this.#length > PAYLOADS_LENGTH_MAX) {
      throw new DelayInvalidError('payload', 'the payloads of one call exceed 32 MiB in total');
    }
  }
}

function lengthOf(list: unknown, field: string): number {
  if (!Array.isArray(list)) throw new DelayInvalidError(field, 'must be an array');
  // As in payloads: only a plain array is sure to hold what its indexes show.
  if (!isPlainArray(list)) throw new DelayInvalidError(field, 'must be a plain array');
  const { length } = list;
  if (length > ITEMS_MAX) {
    throw new DelayInvalidError(field, `must be at most ${ITEMS_MAX}, not ${length}`);
  }
  return length;
}
