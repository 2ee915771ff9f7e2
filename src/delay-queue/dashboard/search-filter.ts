import { DelayInvalidError } from '../core/index.js';
import {
  checkId,
  checkKnownOptions,
  checkText,
  endedFilter,
  liveFilter,
  parseInstant,
  type RowFilter,
  shown,
} from '../core/ops.js';
import type { Rights } from './rights.js';
import {
  END_STATES,
  fieldsWhere,
  isGiven,
  LIVE_STATES,
  SEARCH_FIELDS,
  SEARCH_STATES,
  type SearchFieldName,
  type SearchFilter,
  type SearchState,
  TEXT_FIELDS,
} from './search.table.js';

/** Delays that a viewer asks for and may see; undefined: none of that kind. */
export interface Selection {
  live: RowFilter | undefined;
  ended: RowFilter | undefined;
}

const TEXT_LENGTH_MAX = 1_000;

/** The filter of an address. Other parameters of the address are left out. @throws DelayInvalidError */
export function searchFilterIn(query: URLSearchParams): SearchFilter {
  const given: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const text = query.get(field);
    if (text !== null) given[field] = field === 'state' ? text.split(',') : text;
  }
  return checkSearchFilter(given);
}

const FIELDS = fieldsWhere(() => true);
const PAST = fieldsWhere(({ isPast }) => isPast === true);

/** A filter of a body. @throws DelayInvalidError naming the field */
export function checkSearchFilter(value: unknown): SearchFilter {
  const given = checkKnownOptions(value, 'filter', FIELDS);
  const filter: SearchFilter = {};
  for (const field of TEXT_FIELDS) {
    const text = given[field];
    if (text === undefined) continue;
    filter[field] =
      text === '' && isGiven(field, text) ? text : checkText(text, field, TEXT_LENGTH_MAX);
  }
  if (given['state'] !== undefined) filter.state = checkStates(given['state']);
  return filter;
}

function checkStates(value: unknown): SearchState[] {
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
export function visibleSelection(filter: SearchFilter, rights: Rights): Selection {
  const { q: _, state: __, name, group, id, ...others } = filter;
  const seen = scopeWithin({ name, group }, rights);
  if (seen === null) return { live: undefined, ended: undefined };
  // Not the limits of a caller: a viewer may see more names than a filter takes.
  const scope = { ...seen, ...(id !== undefined && { id: [String(checkId(id))] }) };
  const { live, ended } = statesIn(filter);
  const given = filterConditions(others);
  const present = Object.entries(given).filter(([field]) => !PAST.some((past) => past === field));
  return {
    live: live && {
      ...liveFilter(
        { ...Object.fromEntries(present), ...(live.length > 0 && { state: live }) },
        { mayBeEmpty: true },
      ),
      ...scope,
    },
    ended: ended && {
      ...endedFilter({ ...given, ...(ended.length > 0 && { state: ended }) }),
      ...scope,
    },
  };
}

/** As conditions of `DelayAdmin`. @throws DelayInvalidError naming the field */
export function filterConditions({ header, ...filter }: SearchFilter): Record<string, unknown> {
  const conditions = Object.entries(filter).map(([field, text]) => [
    field,
    SEARCH_FIELDS[field as SearchFieldName].kind === 'instant' ? parseInstant(text, field) : text,
  ]);
  return {
    ...Object.fromEntries(conditions),
    ...(header !== undefined && { headers: parseHeader(header) }),
  };
}

/** An empty list of states: all of them. */
function statesIn(filter: SearchFilter): {
  live: SearchState[] | undefined;
  ended: SearchState[] | undefined;
} {
  const { state } = filter;
  if (state === undefined) {
    const isPast = PAST.some((field) => filter[field] !== undefined);
    return isPast ? { live: undefined, ended: [] } : { live: [], ended: undefined };
  }
  return { live: some(state, LIVE_STATES), ended: some(state, END_STATES) };
}

/** Undefined: none. An empty list: all. */
function some(
  wanted: readonly SearchState[],
  all: readonly SearchState[],
): SearchState[] | undefined {
  const states = all.filter((state) => wanted.includes(state));
  if (states.length === 0) return undefined;
  return states.length === all.length ? [] : states;
}

/** The names and groups that a viewer asks for and may see. @returns null: none */
export function scopeWithin(
  asked: { name?: string | undefined; group?: string | undefined },
  { names, groups }: Pick<Rights, 'names' | 'groups'>,
): Pick<RowFilter, 'name' | 'group'> | null {
  const name = allowed(asked.name, names);
  const group = allowed(asked.group, groups);
  if (name?.length === 0 || group?.length === 0) return null;
  return { ...(name && { name }), ...(group && { group }) };
}

/** @returns an empty list: nothing may be seen */
function allowed(
  asked: string | undefined,
  may: readonly string[] | null,
): readonly string[] | undefined {
  if (asked === undefined) return may ?? undefined;
  return may === null || may.includes(asked) ? [asked] : [];
}

function parseHeader(text: string): Record<string, string> {
  const at = text.indexOf(':');
  if (at > 0) return { [text.slice(0, at)]: text.slice(at + 1) };
  throw new DelayInvalidError('header', `must be like header:value, not ${shown(text)}`);
}
