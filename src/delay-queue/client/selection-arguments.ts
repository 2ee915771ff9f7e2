import type { EndState, LiveState } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { GroupOrder, MatchingOptions } from '../api/selection.js';
import { blamedOn, shown } from '../config/blame.js';
import { type DueTime, instantOf } from '../config/due-times.js';
import { checkInteger, parseDurationMs } from '../config/durations.js';
import { checkKnownOptions, isPlainArray } from '../config/known-options.js';
import {
  checkGroup,
  checkHeaders,
  checkId,
  checkKey,
  checkName,
  checkText,
} from '../config/names.js';
import type { Pausable } from '../store/limit.store.js';
import type { EndedPosition, Page, TopGroups } from '../store/selection.store.js';
import type { AnyRowFilter, EndedFilter, RowFilter } from '../store/sql/fragments/filter.js';

const STATES: readonly LiveState[] = ['scheduled', 'running', 'retrying', 'dead'];
const END_STATES: readonly EndState[] = ['completed', 'cancelled', 'discarded', 'superseded'];
const GROUP_ORDERS: readonly GroupOrder[] = ['total', ...STATES, 'overdue', 'oldestOverdueMs'];
const NAMES_MAX = 100;
const KEY_LENGTH_MAX = 255;
const GROUP_LENGTH_MAX = 255;
const ERROR_LENGTH_MAX = 1_000;
const REASON_LENGTH_MAX = 1_000;
const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 100;

type Parsers<Filter> = {
  [Field in keyof Filter]-?: [given: string, parse: (value: unknown) => Filter[Field]];
};

/** For each field of a row filter: the option it comes from, and its parser. */
const OF_ANY: Parsers<AnyRowFilter> = {
  names: ['name', (value) => eachOf(value, 'name', NAMES_MAX, checkName)],
  key: ['key', checkKey],
  keyPrefix: ['keyPrefix', (value) => checkText(value, 'keyPrefix', KEY_LENGTH_MAX)],
  group: ['group', checkGroup],
  groupPrefix: ['groupPrefix', (value) => checkText(value, 'groupPrefix', GROUP_LENGTH_MAX)],
  headers: ['headers', checkWantedHeaders],
  dueFrom: ['dueFrom', (value) => instantOf(value, 'dueFrom')],
  dueBefore: ['dueBefore', (value) => instantOf(value, 'dueBefore')],
  error: ['error', (value) => checkText(value, 'error', ERROR_LENGTH_MAX)],
};

const OF_LIVE: Parsers<RowFilter> = {
  ...OF_ANY,
  states: ['state', (value) => eachOf(value, 'state', STATES.length, checkState)],
  repeating: ['repeating', checkRepeating],
};

const OF_ENDED: Parsers<EndedFilter> = {
  ...OF_ANY,
  endStates: ['state', (value) => eachOf(value, 'state', END_STATES.length, checkEndState)],
  endedFrom: ['endedFrom', (value) => instantOf(value, 'endedFrom')],
  endedBefore: ['endedBefore', (value) => instantOf(value, 'endedBefore')],
};

/**
 * @param mayBeEmpty whether the filter may match every delay
 * @throws DelayInvalidError naming the field
 */
export const filterOf = (filter: unknown, { mayBeEmpty }: { mayBeEmpty: boolean }): RowFilter =>
  parsed(OF_LIVE, filter, mayBeEmpty);

/** @throws DelayInvalidError naming the field */
export const endedFilterOf = (filter: unknown): EndedFilter => parsed(OF_ENDED, filter, true);

/** @throws DelayInvalidError naming the field */
export const storyFilterOf = (about: unknown): AnyRowFilter =>
  typeof about === 'string' ? { key: checkKey(about) } : parsed(OF_ANY, about, false);

function parsed<Filter>(parsers: Parsers<Filter>, filter: unknown, mayBeEmpty: boolean): Filter {
  const all = Object.entries(parsers) as [string, [string, (value: unknown) => unknown]][];
  const options = all.map(([, [option]]) => option);
  const given = checkKnownOptions(filter, 'filter', options);
  const entries = all
    .filter(([, [option]]) => option in given)
    .map(([field, [option, parse]]) => [field, blamedOn('filter', () => parse(given[option]))]);
  if (entries.length === 0 && !mayBeEmpty) {
    throw new DelayInvalidError(
      'filter',
      'needs at least one condition: an empty filter matches every delay',
    );
  }
  // No prototype: an absent field must not be found in `Object.prototype`.
  return Object.assign(Object.create(null), Object.fromEntries(entries)) as Filter;
}

/** Where a page of a story begins. Without `behind`: at the newest line of the history. */
export type StoryPosition =
  { among: 'live'; behindId: number } | { among: 'ended'; behind: EndedPosition | undefined };

const PLACE = /^(?:live (\d{1,16})|ended (-?\d{1,16}) (\d{1,16}) (\d{1,16}))$/;

/** @throws DelayInvalidError naming the field */
export function storyPageOf(
  options: unknown,
  begins: StoryPosition,
): { limit: number; position: StoryPosition } {
  const names = ['limit', 'after', 'manager'];
  const { limit = PAGE_DEFAULT, after } = checkKnownOptions(options, 'options', names);
  return {
    limit: checkInteger(limit, 'limit', 1, PAGE_MAX),
    position: after === undefined ? begins : placeOf(after, begins),
  };
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

/** @throws DelayInvalidError naming the field */
export function pageOf(options: unknown): Page {
  const { limit = PAGE_DEFAULT, after } = checkKnownOptions(options, 'options', [
    'limit',
    'after',
    'manager',
  ]);
  return {
    limit: checkInteger(limit, 'limit', 1, PAGE_MAX),
    behindId: after === undefined ? 0 : checkAfter(after),
  };
}

/** @throws DelayInvalidError naming the field */
export function topGroupsOf(options: unknown): TopGroups {
  const names = ['orderBy', 'limit', 'manager'];
  const { orderBy = 'overdue', limit = PAGE_DEFAULT } = checkKnownOptions(
    options,
    'options',
    names,
  );
  const by = oneOf(GROUP_ORDERS, orderBy, 'orderBy');
  return { by, limit: checkInteger(limit, 'limit', 1, PAGE_MAX) };
}

/** @throws DelayInvalidError naming the argument */
export function pausableOf(name: unknown, given: Record<string, unknown>): Pausable {
  const { group } = given;
  return { name: checkName(name), group: group === undefined ? null : checkGroup(group) };
}

/** @throws DelayInvalidError naming the option */
export function pauseOptionsOf(
  name: unknown,
  options: unknown,
): { what: Pausable; reason: string | null; until: DueTime | null } {
  const names = ['group', 'reason', 'for', 'until', 'manager'];
  const given = checkKnownOptions(options, 'options', names);
  const { reason, for: duration, until } = given;
  if (duration !== undefined && until !== undefined) {
    throw new DelayInvalidError('until', 'give either for or until, not both');
  }
  const end: DueTime | null =
    duration === undefined ? null : { kind: 'after', ms: parseDurationMs(duration, 'for') };
  return {
    what: pausableOf(name, given),
    reason: reason === undefined ? null : checkText(reason, 'reason', REASON_LENGTH_MAX),
    until: until === undefined ? end : { kind: 'at', iso: instantOf(until, 'until') },
  };
}

/** @throws DelayInvalidError naming the option */
export function changeOptionsOf(options: unknown): MatchingOptions<string> {
  const given = checkKnownOptions(options, 'options', ['manager', 'signal', 'onProgress']);
  const { signal, onProgress } = given;
  if (signal !== undefined && !isSignal(signal)) {
    throw new DelayInvalidError('signal', `must be an AbortSignal, not ${shown(signal)}`);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new DelayInvalidError('onProgress', `must be a function, not ${shown(onProgress)}`);
  }
  return given;
}

/** Not by class: a polyfill and another realm have their own class. */
const isSignal = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'throwIfAborted' in value;

function checkAfter(after: unknown): number {
  try {
    return checkId(after);
  } catch (error) {
    if (!(error instanceof DelayInvalidError)) throw error;
    throw new DelayInvalidError('after', error.why);
  }
}

/** A filter from empty input would otherwise match, and change, every delay. */
function checkWantedHeaders(value: unknown): string {
  const json = checkHeaders(value);
  if (json !== null) return json;
  throw new DelayInvalidError(
    'headers',
    'needs at least one header: an empty set matches every delay',
  );
}

function checkRepeating(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new DelayInvalidError('repeating', `must be true or false, not ${shown(value)}`);
}

const checkState = (value: unknown): LiveState => oneOf(STATES, value, 'state');

const checkEndState = (value: unknown): EndState => oneOf(END_STATES, value, 'state');

function oneOf<Word extends string>(words: readonly Word[], value: unknown, field: string): Word {
  const known = words.find((word) => word === value);
  if (known !== undefined) return known;
  throw new DelayInvalidError(field, `must be one of ${words.join(', ')}, not ${shown(value)}`);
}

function eachOf<Value>(
  value: unknown,
  field: string,
  max: number,
  check: (one: unknown) => Value,
): Value[] {
  if (!Array.isArray(value)) return [check(value)];
  if (!isPlainArray(value) || value.length < 1 || value.length > max) {
    throw new DelayInvalidError(field, `must be a single value or a plain array of 1 to ${max}`);
  }
  return Array.from(value, check);
}
