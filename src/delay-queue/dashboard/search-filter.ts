import type { EndState, LiveState } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { endedFilterOf, filterOf } from '../client/arguments.js';
import { parseInstant } from '../config/instants.js';
import { checkKnownOptions, shown } from '../config/known-options.js';
import { checkId, checkText } from '../config/schedule-options.js';
import type { EndedFilter, RowFilter } from '../store/sql/fragments/filter.js';
import type { SearchFilter, SearchState } from './contract.js';
import type { Rights } from './rights.js';

/** Delays that a viewer asks for and may see; undefined: none of that kind. */
export interface Selection {
  live: RowFilter | undefined;
  ended: EndedFilter | undefined;
}

const LIVE_STATES: readonly SearchState[] = [
  'scheduled',
  'running',
  'retrying',
  'dead',
] satisfies LiveState[];
const END_STATES: readonly SearchState[] = [
  'completed',
  'cancelled',
  'discarded',
  'superseded',
] satisfies EndState[];

export const SEARCH_STATES: readonly SearchState[] = [...LIVE_STATES, ...END_STATES];

const TEXTS = [
  'q',
  'name',
  'key',
  'keyPrefix',
  'group',
  'dueFrom',
  'dueBefore',
  'endedFrom',
  'endedBefore',
  'error',
  'errorLine',
  'header',
  'id',
] as const satisfies readonly Exclude<keyof SearchFilter, 'state'>[];

const TEXT_LENGTH_MAX = 1_000;

/** The filter of an address. Other parameters of the address are left out. @throws DelayInvalidError */
export function searchFilterIn(query: URLSearchParams): SearchFilter {
  const given = Object.fromEntries(
    [...TEXTS, 'state'].flatMap((field) => {
      const text = query.get(field);
      return text === null ? [] : [[field, field === 'state' ? text.split(',') : text]];
    }),
  );
  return checkSearchFilter(given);
}

/** A filter of a body. @throws DelayInvalidError naming the field */
export function checkSearchFilter(value: unknown): SearchFilter {
  const given = checkKnownOptions(value, 'filter', [...TEXTS, 'state']);
  const filter: SearchFilter = {};
  for (const field of TEXTS) {
    const text = given[field];
    if (text === undefined) continue;
    // An error may have no first line.
    filter[field] =
      field === 'errorLine' && text === '' ? '' : checkText(text, field, TEXT_LENGTH_MAX);
  }
  if (given['state'] !== undefined) filter.state = statesOf(given['state']);
  return filter;
}

function statesOf(value: unknown): SearchState[] {
  const states = Array.isArray(value) ? (value as unknown[]) : [];
  const found = states.flatMap((state) => SEARCH_STATES.find((each) => each === state) ?? []);
  if (states.length > 0 && found.length === states.length) return [...new Set(found)];
  throw new DelayInvalidError(
    'state',
    `must be a list of ${SEARCH_STATES.join(', ')}, not ${shown(value)}`,
  );
}

/**
 * What a filter selects of what a viewer may see. `q` is not part of it.
 * @throws DelayInvalidError naming the field
 */
export function selectionOf(filter: SearchFilter, rights: Rights): Selection {
  const names = allowed(filter.name, rights.names);
  const groups = allowed(filter.group, rights.groups);
  if (names?.length === 0 || groups?.length === 0) return { live: undefined, ended: undefined };
  const scope = { ...(names && { names }), ...(groups && { groups }) };
  const { live, ended } = statesIn(filter);
  const { id } = filter;
  const more = {
    ...scope,
    ...(id !== undefined && { ids: [String(checkId(id))] }),
  };
  const given = conditionsOf(filter);
  const past = datesOf(filter, ['endedFrom', 'endedBefore']);
  return {
    live: live && {
      ...filterOf({ ...given, ...(live.length > 0 && { state: live }) }, { mayBeEmpty: true }),
      ...more,
    },
    ended: ended && {
      ...endedFilterOf({ ...given, ...past, ...(ended.length > 0 && { state: ended }) }),
      ...more,
    },
  };
}

/** Its conditions beside name, group, id and states. @throws DelayInvalidError naming the field */
export const conditionsOf = (filter: SearchFilter) => ({
  ...(filter.key !== undefined && { key: filter.key }),
  ...(filter.keyPrefix !== undefined && { keyPrefix: filter.keyPrefix }),
  ...(filter.error !== undefined && { error: filter.error }),
  ...(filter.errorLine !== undefined && { errorLine: filter.errorLine }),
  ...(filter.header !== undefined && { headers: headerOf(filter.header) }),
  ...datesOf(filter, ['dueFrom', 'dueBefore']),
});

/** An empty list of states: all of them. */
function statesIn({ state, endedFrom, endedBefore }: SearchFilter): {
  live: SearchState[] | undefined;
  ended: SearchState[] | undefined;
} {
  if (state === undefined) {
    const isPast = (endedFrom ?? endedBefore) !== undefined;
    return isPast ? { live: undefined, ended: [] } : { live: [], ended: undefined };
  }
  const live = state.filter((each) => LIVE_STATES.includes(each));
  const ended = state.filter((each) => END_STATES.includes(each));
  return { live: some(live, LIVE_STATES.length), ended: some(ended, END_STATES.length) };
}

/** Undefined: none. An empty list: all. */
function some(states: SearchState[], all: number): SearchState[] | undefined {
  if (states.length === 0) return undefined;
  return states.length === all ? [] : states;
}

/** @returns an empty list: nothing may be seen */
export function allowed(
  asked: string | undefined,
  may: readonly string[] | null,
): readonly string[] | undefined {
  if (asked === undefined) return may ?? undefined;
  return may === null || may.includes(asked) ? [asked] : [];
}

function headerOf(text: string): Record<string, string> {
  const at = text.indexOf(':');
  if (at > 0) return { [text.slice(0, at)]: text.slice(at + 1) };
  throw new DelayInvalidError('header', `must be like header:value, not ${shown(text)}`);
}

function datesOf(
  filter: SearchFilter,
  fields: readonly ('dueFrom' | 'dueBefore' | 'endedFrom' | 'endedBefore')[],
): Record<string, Date> {
  const dates: Record<string, Date> = {};
  for (const field of fields) {
    const text = filter[field];
    if (text === undefined) continue;
    dates[field] = parseInstant(text, field);
  }
  return dates;
}
