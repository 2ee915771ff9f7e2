import { ignoreRejection } from '../api/adopted.js';
import type { DelayHeaders, ScheduleItem } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { blamedOn } from '../config/refusals.js';
import type { Payloads } from '../config/payloads.js';
import { checkName } from '../config/checks.js';
import { type ParsedSchedule, parseScheduleItem } from '../config/schedule-options.js';
import { withHeaders } from '../config/headers.js';
import { keyText, type NewDelay } from '../store/rows/delay-rows.js';
import { parseItems } from './arguments.js';

/** Most payload in one `scheduleMany`, in UTF-16 units: one statement carries all of it. */
const PAYLOADS_LENGTH_MAX = 32 * 1_048_576;

/** What one call schedules. Name and key are there at once, so that its turn can be taken. */
export interface GivenDelays<Delays> {
  delays: Delays;
  /** Resolves when the payloads are there, too. Undefined unless a schema or the codec returns a promise. */
  ready: Promise<void> | undefined;
}

/** @param added headers beside the caller's */
export function newDelay(
  name: unknown,
  payload: unknown,
  options: ParsedSchedule,
  payloads: Payloads,
  added?: DelayHeaders,
): GivenDelays<NewDelay> {
  const draft = { name: checkName(name), payload: payloads.jsonOf(payload), ...options };
  if (added !== undefined) draft.headers = withHeaders(draft.headers, added);
  const stored = payloads.stored(draft.payload, draft);
  const take = (text: string): void => {
    draft.payload = text;
  };
  // Another argument may be refused before this is awaited; its own error is dropped then.
  const ready = stored instanceof Promise ? ignoreRejection(stored.then(take)) : undefined;
  if (!(stored instanceof Promise)) take(stored);
  return { delays: draft, ready };
}

/** Refuses duplicate keys. @param added headers of each, beside the caller's */
export function newDelays(
  items: readonly ScheduleItem[],
  payloads: Payloads,
  added?: DelayHeaders,
): GivenDelays<NewDelay[]> {
  const seen = new Set<string>();
  const size = new SizeOfAll();
  // Most items have no headers of their own.
  const alone = added && withHeaders(null, added);
  const drafts = parseItems(items, 'items', (item) => {
    const { name, payload, options } = parseScheduleItem(item);
    const delay = { name: checkName(name), payload: payloads.jsonOf(payload), ...options };
    if (added !== undefined) {
      delay.headers = delay.headers === null ? (alone ?? null) : withHeaders(delay.headers, added);
    }
    size.add(delay.payload);
    if (delay.key === null) return delay;
    const key = keyText(delay);
    if (seen.has(key)) throw new DelayInvalidError('key', 'appears twice for this name');
    seen.add(key);
    return delay;
  });
  return { delays: drafts, ready: storedAll(drafts, payloads) };
}

/** One payload at a time, to bound memory: each starts when the previous promise has resolved. */
function storedAll(
  drafts: NewDelay[],
  payloads: Payloads,
  from = 0,
  size = new SizeOfAll(),
): Promise<void> | undefined {
  const take = (index: number, text: string): void => {
    size.add(text);
    (drafts[index] as NewDelay).payload = text;
  };
  for (let index = from; index < drafts.length; index++) {
    const draft = drafts[index] as NewDelay;
    const item = `items[${index}]`;
    const stored = blamedOn(item, () => payloads.stored(draft.payload, draft));
    if (stored instanceof Promise) {
      const rest = async (): Promise<void> => {
        const text = await stored.catch((error: unknown) =>
          blamedOn(item, () => {
            throw error;
          }),
        );
        blamedOn(item, () => take(index, text));
        await storedAll(drafts, payloads, index + 1, size);
      };
      return ignoreRejection(rest());
    }
    blamedOn(item, () => take(index, stored));
  }
  return undefined;
}

class SizeOfAll {
  #length = 0;

  add(text: string): void {
    this.#length += text.length;
    if (this.#length > PAYLOADS_LENGTH_MAX) {
      throw new DelayInvalidError('payload', 'the payloads of one call exceed 32 MiB in total');
    }
  }
}
