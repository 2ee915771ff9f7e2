import type { ChangeOptions } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { EraseOptions, GroupOrder, MatchingOptions } from '../api/selection.js';
import { type DueTime, parseDurationBetween } from '../config/durations.js';
import { instantOf } from '../config/instants.js';
import {
  blamedOn,
  checkKnownOptions,
  isPlainArray,
  readable,
  shown,
} from '../config/known-options.js';
import {
  checkGroup,
  checkId,
  checkInteger,
  checkKey,
  checkName,
  flag,
  oneOf,
  text,
  type ValueCheck,
} from '../config/checks.js';
import { LIVE_STATES } from '../store/filter.table.js';
import type { Pausable } from '../store/pause.store.js';
import { keyText, type NameAndKey } from '../store/rows/delay-rows.js';
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

/** Checked elsewhere: manager and tx where the transaction is chosen. */
const asGiven: ValueCheck<never> = (value) => value as never;

const pageSize: ValueCheck<number> = (value, field) => checkInteger(value, field, 1, PAGE_MAX);

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

/** The options of each kind of call, in the order in which a refusal lists them. */
const JOINS = { manager: asGiven, tx: asGiven };
const CHANGE = { ...JOINS, by: text(255) };
const MATCHING = { ...CHANGE, signal, onProgress };
const ERASE = { ...MATCHING, dryRun: flag, operations: flag };
const CANCEL = { ...CHANGE, running: asGiven, abortWithin: asGiven };
const PAGE = { limit: pageSize, after: checkId, payload: flag, ...JOINS };
const HISTORY = { limit: pageSize, after: asGiven, ...JOINS };
const STORY = { ...HISTORY, payload: flag };
const GROUP_ORDERS: readonly GroupOrder[] = ['total', ...LIVE_STATES, 'overdue', 'oldestOverdueMs'];
const TOP_GROUPS = { orderBy: oneOf(GROUP_ORDERS), limit: pageSize, ...JOINS };
const RESUME = { group: checkGroup, by: CHANGE.by, ...JOINS };
const PAUSE = {
  group: checkGroup,
  reason: text(1_000),
  for: (value: unknown, field: string) => parseDurationBetween(value, field, '1ms', '36525d'),
  until: instantOf,
  by: CHANGE.by,
  ...JOINS,
};

function optionsOf<Checks extends Record<string, ValueCheck<unknown>>>(
  options: unknown,
  checks: Checks,
): { [Name in keyof Checks]?: ReturnType<Checks[Name]> } {
  const names = Object.keys(checks);
  const given = checkKnownOptions(options, 'options', names);
  for (const name of names) {
    if (given[name] !== undefined) given[name] = checks[name]?.(given[name], name);
  }
  return given as { [Name in keyof Checks]?: ReturnType<Checks[Name]> };
}

export function nameAndKeyOf<N extends string>(
  name: N,
  key: unknown,
  options: unknown = {},
): NameAndKey<N> {
  checkKnownOptions(options, 'options', Object.keys(JOINS));
  return { name: checkName(name) as N, key: checkKey(key) };
}

export type Target = NameAndKey | { id: number };

export function targetOf(given: unknown): Target {
  const { name, key, id } = checkKnownOptions(given, 'target', ['name', 'key', 'id']);
  if (id !== undefined && (name !== undefined || key !== undefined)) {
    throw new DelayInvalidError('id', 'give either id, or name and key, not both');
  }
  return id === undefined ? { name: checkName(name), key: checkKey(key) } : { id: checkId(id) };
}

/** Refuses duplicates, too. */
export function targetsOf(targets: unknown): Target[] {
  const seen = new Set<string>();
  return itemsOf(targets, 'targets', (item) => {
    const target = targetOf(item);
    const which = 'id' in target ? String(target.id) : keyText(target);
    if (seen.has(which)) {
      throw new DelayInvalidError('id' in target ? 'id' : 'key', 'appears twice in the list');
    }
    seen.add(which);
    return target;
  });
}

/** By index: `map` skips holes, and an array may override `map`. */
export function itemsOf<Item>(
  list: unknown,
  field: string,
  check: (item: unknown) => Item,
): Item[] {
  const length = readable(field, () => lengthOf(list, field));
  return Array.from({ length }, (_, index) => {
    const at = `${field}[${index}]`;
    const item = readable(at, () => (list as unknown[])[index]);
    return blamedOn(at, () => check(item));
  });
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

export const changingOf = (options: unknown): ChangeOptions => optionsOf(options, CHANGE);

export const changeOptionsOf = (options: unknown): MatchingOptions<string> =>
  optionsOf(options, MATCHING);

export const eraseOptionsOf = (options: unknown): EraseOptions => optionsOf(options, ERASE);

export interface Cancelling {
  transaction: MatchingOptions<string>;
  /** How long to wait for running attempts to end; undefined: they are left alone. */
  abortWithinMs: number | undefined;
}

/** @param isMatching the call has a filter, and so the options of every such change */
export function parseCancelOptions(options: unknown, isMatching = false): Cancelling {
  const checks = isMatching ? { ...CANCEL, ...MATCHING } : CANCEL;
  const { running, abortWithin, ...transaction } = optionsOf(options, checks);
  return { transaction, abortWithinMs: abortWithinOf(running, abortWithin) };
}

function abortWithinOf(running: unknown = 'leave', within: unknown): number | undefined {
  if (running === 'abort') {
    return within === undefined
      ? ABORT_WITHIN_MS
      : parseDurationBetween(within, 'abortWithin', '1ms', '1h');
  }
  if (running !== 'leave') {
    throw new DelayInvalidError('running', `must be 'leave' or 'abort', not ${shown(running)}`);
  }
  if (within === undefined) return undefined;
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

export function storyPageOf(options: unknown, begins: StoryPosition): StoryPage {
  const checks = (begins.among === 'live' ? STORY : HISTORY) as typeof STORY;
  const { after, limit = PAGE_DEFAULT, payload = true } = optionsOf(options, checks);
  return { limit, payload, position: after === undefined ? begins : placeOf(after, begins) };
}

function placeOf(after: unknown, begins: StoryPosition): StoryPosition {
  const found = typeof after === 'string' ? PLACE.exec(after) : null;
  // A story of ended delays has no page that begins among live ones.
  if (found === null || (begins.among === 'ended' && found[1] !== undefined)) {
    throw new DelayInvalidError('after', `must be the \`next\` of a page, not ${shown(after)}`);
  }
  const [live, endedUs, id, epoch] = found.slice(1).map(Number) as [number, number, number, number];
  if (found[1] !== undefined) return { among: 'live', behindId: live };
  return { among: 'ended', behind: { endedUs, id, epoch } };
}

/** The place as a text, which the caller passes back. */
export function nextOf(place: StoryPosition): string {
  if (place.among === 'live') return `live ${place.behindId}`;
  const { endedUs, id, epoch } = place.behind as EndedPosition;
  return `ended ${endedUs} ${id} ${epoch}`;
}

export function pageOf(options: unknown): ListedPage {
  const { after = 0, limit = PAGE_DEFAULT, payload = true } = optionsOf(options, PAGE);
  return { limit, payload, behindId: after };
}

export function topGroupsOf(options: unknown): TopGroups {
  const { orderBy: by = 'overdue', limit = PAGE_DEFAULT } = optionsOf(options, TOP_GROUPS);
  return { by, limit };
}

export function resumeOptionsOf(
  name: unknown,
  options: unknown,
): { what: Pausable; by: string | undefined } {
  const { group = null, by } = optionsOf(options, RESUME);
  return { what: { name: checkName(name), group }, by };
}

export function pauseOptionsOf(
  name: unknown,
  options: unknown,
): { what: Pausable; reason: string | null; by: string | null; until: DueTime | null } {
  const { group = null, reason = null, by = null, for: ms, until: iso } = optionsOf(options, PAUSE);
  if (ms !== undefined && iso !== undefined) {
    throw new DelayInvalidError('until', 'give either for or until, not both');
  }
  const end: DueTime | null = ms === undefined ? null : { kind: 'after', ms };
  return {
    what: { name: checkName(name), group },
    reason,
    by,
    until: iso === undefined ? end : { kind: 'at', iso },
  };
}
