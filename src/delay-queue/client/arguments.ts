import type { ChangeOptions, EndState, LiveState } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { EraseOptions, GroupOrder, MatchingOptions } from '../api/selection.js';
import { checkInteger, type DueTime, parseDurationBetween } from '../config/durations.js';
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
  checkHeaders,
  checkId,
  checkKey,
  checkName,
  checkText,
} from '../config/schedule-options.js';
import type { Pausable } from '../store/limit.store.js';
import { keyText } from '../store/rows/delay-rows.js';
import type { ListedPage, TopGroups } from '../store/selection.store.js';
import type { EndedPosition } from '../store/sql/history.sql.js';
import type { AnyRowFilter, EndedFilter, RowFilter } from '../store/sql/fragments/filter.js';

/** Most items in one call. More of them belong in several transactions. */
const ITEMS_MAX = 10_000;

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

/**
 * The options of a call that changes delays.
 * @throws DelayInvalidError naming the option
 */
export function changingOf(options: unknown): ChangeOptions {
  const given = checkKnownOptions(options, 'options', ['manager', 'by']);
  return {
    ...('manager' in given && { manager: given['manager'] as never }),
    ...byOf(given),
  };
}

/** @throws DelayInvalidError */
export const byOf = ({ by }: Record<string, unknown>): { by?: string } =>
  by === undefined ? {} : { by: checkText(by, 'by', BY_LENGTH_MAX) };

export type Target = NameAndKey | { id: number };

/** @throws DelayInvalidError naming the field */
export function targetOf(given: unknown): Target {
  const { name, key, id } = checkKnownOptions(given, 'target', ['name', 'key', 'id']);
  if (id !== undefined && (name !== undefined || key !== undefined)) {
    throw new DelayInvalidError('id', 'give either id, or name and key, not both');
  }
  return id === undefined ? { name: checkName(name), key: checkKey(key) } : { id: checkId(id) };
}

/** @throws DelayInvalidError naming the item, also for duplicates */
export function targetsOf(targets: unknown): Target[] {
  const length = readable('targets', () => lengthOf(targets, 'targets'));
  const seen = new Set<string>();
  return Array.from({ length }, (_, index) => {
    const item = readable(`targets[${index}]`, () => (targets as unknown[])[index]);
    return blamedOn(`targets[${index}]`, () => {
      const target = targetOf(item);
      const text = 'id' in target ? String(target.id) : keyText(target);
      if (seen.has(text)) {
        throw new DelayInvalidError('id' in target ? 'id' : 'key', 'appears twice in the list');
      }
      seen.add(text);
      return target;
    });
  });
}

/** @throws DelayInvalidError naming the list */
export function lengthOf(list: unknown, field: string): number {
  if (!Array.isArray(list)) throw new DelayInvalidError(field, 'must be an array');
  // As in payloads: only a plain array is sure to hold what its indexes show.
  if (!isPlainArray(list)) throw new DelayInvalidError(field, 'must be a plain array');
  const { length } = list;
  if (length > ITEMS_MAX) {
    throw new DelayInvalidError(field, `must be at most ${ITEMS_MAX}, not ${length}`);
  }
  return length;
}

const STATES: readonly LiveState[] = ['scheduled', 'running', 'retrying', 'dead'];
const END_STATES: readonly EndState[] = ['completed', 'cancelled', 'discarded', 'superseded'];
const GROUP_ORDERS: readonly GroupOrder[] = ['total', ...STATES, 'overdue', 'oldestOverdueMs'];
const NAMES_MAX = 100;
const GROUPS_MAX = 100;
const IDS_MAX = 1_000;
const KEY_LENGTH_MAX = 255;
const GROUP_LENGTH_MAX = 255;
const ERROR_LENGTH_MAX = 1_000;
const ERROR_LINE_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 1_000;
const BY_LENGTH_MAX = 255;
const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 100;

type Parsers<Filter> = {
  [Field in keyof Filter]-?: [given: string, parse: (value: unknown) => Filter[Field]];
};

/** For each field of a row filter: the option it comes from, and its parser. */
const OF_ANY: Parsers<Omit<AnyRowFilter, 'ids'>> = {
  names: ['name', (value) => eachOf(value, 'name', NAMES_MAX, checkName)],
  key: ['key', checkKey],
  keyPrefix: ['keyPrefix', (value) => checkText(value, 'keyPrefix', KEY_LENGTH_MAX)],
  groups: ['group', (value) => eachOf(value, 'group', GROUPS_MAX, checkGroup)],
  groupPrefix: ['groupPrefix', (value) => checkText(value, 'groupPrefix', GROUP_LENGTH_MAX)],
  headers: ['headers', checkWantedHeaders],
  dueFrom: ['dueFrom', (value) => instantOf(value, 'dueFrom')],
  dueBefore: ['dueBefore', (value) => instantOf(value, 'dueBefore')],
  error: ['error', (value) => checkText(value, 'error', ERROR_LENGTH_MAX)],
  errorLine: [
    'errorLine',
    (value) => (value === '' ? '' : checkText(value, 'errorLine', ERROR_LINE_LENGTH_MAX)),
  ],
};

const OF_LIVE: Parsers<RowFilter> = {
  ...OF_ANY,
  states: ['state', (value) => eachOf(value, 'state', STATES.length, checkState)],
  repeating: ['repeating', (value) => checkFlag(value, 'repeating')],
  ids: ['id', (value) => eachOf(value, 'id', IDS_MAX, (one) => String(checkId(one)))],
};

const OF_ENDED: Parsers<Omit<EndedFilter, 'ids'>> = {
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

/**
 * A filter of live delays, or of ended ones if it gives a state or an instant of the end.
 * @throws DelayInvalidError naming the field
 */
export function liveOrEndedOf(
  filter: unknown,
): { of: 'live'; filter: RowFilter } | { of: 'ended'; filter: EndedFilter } {
  const options = Object.values({ ...OF_LIVE, ...OF_ENDED }).map(([option]) => option);
  const given = checkKnownOptions(filter, 'filter', options);
  const states: unknown[] = [given['state']].flat();
  const isPast =
    'endedFrom' in given ||
    'endedBefore' in given ||
    states.some((state) => END_STATES.some((end) => end === state));
  return isPast
    ? { of: 'ended', filter: endedFilterOf(given) }
    : { of: 'live', filter: filterOf(given, { mayBeEmpty: true }) };
}

/** @throws DelayInvalidError naming the field */
export const storyFilterOf = (about: unknown): AnyRowFilter =>
  typeof about === 'string' ? { key: checkKey(about) } : parsed(OF_ANY, about, false);

/**
 * A filter of what belongs to one person.
 * @throws DelayInvalidError naming the field
 */
export function eraseFilterOf(filter: unknown): AnyRowFilter {
  const { names, key, keyPrefix, groups, headers } = OF_ANY;
  const wanted = parsed({ names, key, keyPrefix, groups, headers }, filter, false);
  if (Object.keys(wanted).some((field) => field !== 'names')) return wanted;
  throw new DelayInvalidError(
    'filter',
    'needs a key, keyPrefix, group or headers: a name alone matches what belongs to all',
  );
}

/** @throws DelayInvalidError naming the option */
export function eraseOptionsOf(options: unknown): EraseOptions {
  const names = ['manager', 'by', 'signal', 'onProgress', 'dryRun', 'operations'];
  const {
    dryRun = false,
    operations = true,
    ...rest
  } = checkKnownOptions(options, 'options', names);
  return {
    ...(changeOptionsOf(rest) as EraseOptions),
    dryRun: checkFlag(dryRun, 'dryRun'),
    operations: checkFlag(operations, 'operations'),
  };
}

function parsed<Filter>(parsers: Parsers<Filter>, filter: unknown, mayBeEmpty: boolean): Filter {
  const all: [string, [string, (value: unknown) => unknown]][] = Object.entries(parsers);
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
  | { among: 'live'; behindId: number }
  | { among: 'ended'; behind: EndedPosition | undefined };

const PLACE = /^(?:live (\d{1,16})|ended (-?\d{1,16}) (\d{1,16}) (\d{1,16}))$/;

/** @throws DelayInvalidError naming the field */
export function storyPageOf(
  options: unknown,
  begins: StoryPosition,
): { limit: number; payload: boolean; position: StoryPosition } {
  const names = ['limit', 'after', 'manager', ...(begins.among === 'live' ? ['payload'] : [])];
  const {
    limit = PAGE_DEFAULT,
    after,
    payload = true,
  } = checkKnownOptions(options, 'options', names);
  return {
    limit: checkInteger(limit, 'limit', 1, PAGE_MAX),
    payload: checkFlag(payload, 'payload'),
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
export function pageOf(options: unknown): ListedPage {
  const names = ['limit', 'after', 'payload', 'manager'];
  const {
    limit = PAGE_DEFAULT,
    after,
    payload = true,
  } = checkKnownOptions(options, 'options', names);
  return {
    limit: checkInteger(limit, 'limit', 1, PAGE_MAX),
    payload: checkFlag(payload, 'payload'),
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
): { what: Pausable; reason: string | null; by: string | null; until: DueTime | null } {
  const names = ['group', 'reason', 'for', 'until', 'by', 'manager'];
  const given = checkKnownOptions(options, 'options', names);
  const { reason, for: duration, until } = given;
  if (duration !== undefined && until !== undefined) {
    throw new DelayInvalidError('until', 'give either for or until, not both');
  }
  const end: DueTime | null =
    duration === undefined
      ? null
      : { kind: 'after', ms: parseDurationBetween(duration, 'for', '1ms', '36525d') };
  return {
    what: pausableOf(name, given),
    reason: reason === undefined ? null : checkText(reason, 'reason', REASON_LENGTH_MAX),
    by: byOf(given).by ?? null,
    until: until === undefined ? end : { kind: 'at', iso: instantOf(until, 'until') },
  };
}

/** @throws DelayInvalidError naming the option */
export function changeOptionsOf(options: unknown): MatchingOptions<string> {
  const given = checkKnownOptions(options, 'options', ['manager', 'by', 'signal', 'onProgress']);
  const { signal, onProgress } = given;
  if (signal !== undefined && !isSignal(signal)) {
    throw new DelayInvalidError('signal', `must be an AbortSignal, not ${shown(signal)}`);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new DelayInvalidError('onProgress', `must be a function, not ${shown(onProgress)}`);
  }
  byOf(given);
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

function checkFlag(value: unknown, field: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new DelayInvalidError(field, `must be true or false, not ${shown(value)}`);
}

function checkState(value: unknown): LiveState {
  if (!END_STATES.some((end) => end === value)) return oneOf(STATES, value, 'state');
  throw new DelayInvalidError(
    'state',
    `must be one of ${STATES.join(', ')}, not ${shown(value)}: \`history\` lists what has ended`,
  );
}

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
