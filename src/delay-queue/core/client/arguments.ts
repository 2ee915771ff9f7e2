import { DelayInvalidError } from '../api/errors.js';
import type { GroupOrder, MatchingOptions } from '../api/selection.js';
import { type DueTime, durationIn } from '../config/durations.js';
import { checkInstant } from '../config/instants.js';
import {
  asGiven,
  checkGroup,
  checkId,
  checkKey,
  checkName,
  choice,
  flag,
  integer,
  isPlainArray,
  text,
  type ValueCheck,
} from '../config/checks.js';
import {
  checkKnownOptions,
  type OptionTable,
  parseByTable,
  type Parsed,
} from '../config/known-options.js';
import { blamedOn, readable } from '../config/refusals.js';
import { shown } from '../config/shown.js';
import { LIVE_STATES } from '../store/filter.table.js';
import type { Pausable } from '../store/pause.store.js';
import { keyText, type NameAndKey, type Target } from '../store/rows/delay-rows.js';
import type { ListedPage, TopGroups } from '../store/selection.store.js';
import type { EndedPosition } from '../store/sql/history.sql.js';

/*
 * What callers give to `DelayService` and `DelayAdmin`, checked. A refusal is a DelayInvalidError that names
 * the argument.
 */

/** Most items in one call. More of them belong in several transactions. */
const ITEMS_MAX = 10_000;
const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 100;

/** How long a cancel waits by default for an attempt to end. */
const ABORT_WITHIN_MS = 5_000;

const pageSize = integer(1, PAGE_MAX);

const signal: ValueCheck<AbortSignal> = (value, field) => {
  // Not by class: a polyfill and another realm have their own class.
  if (typeof value === 'object' && value !== null && 'throwIfAborted' in value) {
    return value as AbortSignal;
  }
  throw new DelayInvalidError(field, `must be an AbortSignal, not ${shown(value)}`);
};

const onProgress: ValueCheck<never> = (value, field) => {
  if (typeof value === 'function') return value as never;
  throw new DelayInvalidError(field, `must be a function, not ${shown(value)}`);
};

const GROUP_ORDERS: readonly GroupOrder[] = ['total', ...LIVE_STATES, 'overdue', 'oldestOverdueMs'];

const JOINS = { manager: asGiven, tx: asGiven };
const CHANGE = { ...JOINS, by: text(255) };
const CANCEL = {
  ...CHANGE,
  running: choice(['leave', 'abort']),
  abortWithin: durationIn('1ms', '1h'),
};
const MATCHING = { ...CHANGE, signal, onProgress };
const HISTORY = { limit: pageSize, after: asGiven, ...JOINS };

/** The options of each kind of call, in the order in which a refusal lists them. */
const OPTIONS = {
  read: JOINS,
  change: CHANGE,
  changeMatching: MATCHING,
  cancel: CANCEL,
  cancelMatching: { ...CANCEL, ...MATCHING },
  erase: { ...MATCHING, dryRun: flag, operations: flag },
  list: { limit: pageSize, after: checkId, payload: flag, ...JOINS },
  history: HISTORY,
  story: { ...HISTORY, payload: flag },
  groupStats: { orderBy: choice(GROUP_ORDERS), limit: pageSize, ...JOINS },
  resume: { group: checkGroup, by: CHANGE.by, ...JOINS },
  pause: {
    group: checkGroup,
    reason: text(1_000),
    for: durationIn('1ms', '36525d'),
    until: checkInstant,
    by: CHANGE.by,
    ...JOINS,
  },
} satisfies Record<string, OptionTable>;

export const parseOptions = <Call extends keyof typeof OPTIONS>(
  call: Call,
  options: unknown,
): Parsed<(typeof OPTIONS)[Call]> =>
  parseByTable<(typeof OPTIONS)[Call]>(options, 'options', OPTIONS[call]);

export function parseNameAndKey<N extends string>(
  name: N,
  key: unknown,
  options: unknown = {},
): NameAndKey<N> {
  parseOptions('read', options);
  return { name: checkName(name) as N, key: checkKey(key) };
}

export function parseTarget(given: unknown): Target {
  const { name, key, id } = checkKnownOptions(given, 'target', ['name', 'key', 'id']);
  if (id !== undefined && (name !== undefined || key !== undefined)) {
    throw new DelayInvalidError('id', 'give either id, or name and key, not both');
  }
  return id === undefined ? { name: checkName(name), key: checkKey(key) } : { id: checkId(id) };
}

/** Refuses duplicates, too. */
export function parseTargets(targets: unknown): Target[] {
  const seen = new Set<string>();
  return parseItems(targets, 'targets', (item) => {
    const target = parseTarget(item);
    const which = 'id' in target ? String(target.id) : keyText(target);
    if (seen.has(which)) {
      throw new DelayInvalidError('id' in target ? 'id' : 'key', 'appears twice in the list');
    }
    seen.add(which);
    return target;
  });
}

/** By index: `map` skips holes, and an array may override `map`. */
export function parseItems<Item>(
  list: unknown,
  field: string,
  check: (item: unknown) => Item,
): Item[] {
  const length = readable(field, () => checkLength(list, field));
  return Array.from({ length }, (_, index) => {
    const at = `${field}[${index}]`;
    const item = readable(at, () => (list as unknown[])[index]);
    return blamedOn(at, () => check(item));
  });
}

function checkLength(list: unknown, field: string): number {
  if (!Array.isArray(list)) throw new DelayInvalidError(field, 'must be an array');
  // As in payloads: only a plain array is sure to hold what its indexes show.
  if (!isPlainArray(list)) throw new DelayInvalidError(field, 'must be a plain array');
  const { length } = list;
  if (length > ITEMS_MAX) {
    throw new DelayInvalidError(field, `must be at most ${ITEMS_MAX}, not ${length}`);
  }
  return length;
}

export interface Cancelling {
  transaction: MatchingOptions<string>;
  /** How long to wait for running attempts to end; undefined: they are left alone. */
  abortWithinMs: number | undefined;
}

export function parseCancel(
  options: unknown,
  call: 'cancel' | 'cancelMatching' = 'cancel',
): Cancelling {
  const { running: what, abortWithin, ...transaction } = parseOptions(call, options);
  if (what === 'abort') return { transaction, abortWithinMs: abortWithin ?? ABORT_WITHIN_MS };
  if (abortWithin === undefined) return { transaction, abortWithinMs: undefined };
  throw new DelayInvalidError('abortWithin', "is only for `running: 'abort'`");
}

/** Where a page of a story begins. Without `behind`: at the newest line of the history. */
export type StoryPosition =
  | { among: 'live'; behindId: number }
  | { among: 'ended'; behind: EndedPosition | undefined };

export interface StoryPage {
  limit: number;
  payload?: boolean;
  position: StoryPosition;
}

const PLACE = /^(?:live (\d{1,16})|ended (-?\d{1,16}) (\d{1,16}) (\d{1,16}))$/;

export function parseStoryPage(options: unknown, begins: StoryPosition): StoryPage {
  const call = begins.among === 'live' ? 'story' : 'history';
  const given: Parsed<(typeof OPTIONS)['story']> = parseOptions(call, options);
  const { after, limit = PAGE_DEFAULT, payload = true } = given;
  return { limit, payload, position: after === undefined ? begins : readNext(after, begins) };
}

function readNext(after: unknown, begins: StoryPosition): StoryPosition {
  const found = typeof after === 'string' ? PLACE.exec(after) : null;
  // A story of ended delays has no page that begins among live ones.
  if (found === null || (begins.among === 'ended' && found[1] !== undefined)) {
    throw new DelayInvalidError('after', `must be the \`next\` of a page, not ${shown(after)}`);
  }
  const [live, endedUs, id, epoch] = found.slice(1).map(Number) as [number, number, number, number];
  if (found[1] !== undefined) return { among: 'live', behindId: live };
  return { among: 'ended', behind: { endedUs, id, epoch } };
}

/** The place as a text, which the caller passes back as `after`. */
export function writeNext(place: StoryPosition): string {
  if (place.among === 'live') return `live ${place.behindId}`;
  const { endedUs, id, epoch } = place.behind as EndedPosition;
  return `ended ${endedUs} ${id} ${epoch}`;
}

export function parsePage(options: unknown): ListedPage {
  const { after = 0, limit = PAGE_DEFAULT, payload = true } = parseOptions('list', options);
  return { limit, payload, behindId: after };
}

export function parseTopGroups(options: unknown): TopGroups {
  const { orderBy: by = 'overdue', limit = PAGE_DEFAULT } = parseOptions('groupStats', options);
  return { by, limit };
}

export function parsePause(
  name: unknown,
  options: unknown,
): { what: Pausable; reason: string | null; by: string | null; until: DueTime | null } {
  const { group = null, reason = null, by = null, for: ms, until } = parseOptions('pause', options);
  if (ms !== undefined && until !== undefined) {
    throw new DelayInvalidError('until', 'give either for or until, not both');
  }
  const end: DueTime | null = ms === undefined ? null : { kind: 'after', ms };
  return {
    what: { name: checkName(name), group },
    reason,
    by,
    until: until === undefined ? end : { kind: 'at', iso: until },
  };
}
