import type { DelayLine, SearchFilter, SearchState } from '../../contract.js';
import { hrefOf, parameters } from './address.js';

export const STATES: readonly SearchState[] = [
  'scheduled',
  'running',
  'retrying',
  'dead',
  'completed',
  'cancelled',
  'discarded',
  'superseded',
];

/** In the order of their chips. */
export const FIELDS = [
  'q',
  'key',
  'keyPrefix',
  'id',
  'name',
  'group',
  'state',
  'dueFrom',
  'dueBefore',
  'endedFrom',
  'endedBefore',
  'error',
  'errorLine',
  'header',
] as const satisfies readonly (keyof SearchFilter)[];
export type FilterField = (typeof FIELDS)[number];

const isState = (text: string): text is SearchState => STATES.some((state) => state === text);

/** Of the address. */
export function filterOfAddress(): SearchFilter {
  const filter: SearchFilter = {};
  for (const field of FIELDS) {
    const value = parameters.value.get(field);
    // An empty first line of an error is one, too.
    if (value === null || (value === '' && field !== 'errorLine')) continue;
    if (field === 'state') filter.state = value.split(',').filter(isState);
    else filter[field] = value;
  }
  if (filter.state?.length === 0) delete filter.state;
  return filter;
}

/** As parameters of an address, and of a request. */
export function parametersOf(filter: SearchFilter): Record<string, string | undefined> {
  const { state, ...texts } = filter;
  return { ...texts, ...(state?.length && { state: state.join(',') }) };
}

export const searchHref = (filter: SearchFilter, after?: string | null): string =>
  hrefOf('search', { ...parametersOf(filter), ...(after && { after }) });

/** One run of a delay that recurs is told apart by its end. */
export const delayHref = ({ id, endedAt }: Pick<DelayLine, 'id' | 'endedAt'>): string =>
  hrefOf('delay', { id, ...(endedAt !== null && { endedAt }) });

export const hasFields = (filter: SearchFilter): boolean => Object.keys(filter).length > 0;
