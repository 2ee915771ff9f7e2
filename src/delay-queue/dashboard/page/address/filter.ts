import type { DelayLine } from '../../contract.js';
import {
  fieldsWhere,
  isGiven,
  SEARCH_STATES,
  type SearchFilter,
  type SearchState,
} from '../../search.table.js';
import { viewHref, parameters } from './address.js';

const isState = (text: string): text is SearchState =>
  SEARCH_STATES.some((state) => state === text);

export function filterOfAddress(): SearchFilter {
  const filter: SearchFilter = {};
  for (const field of fieldsWhere(() => true)) {
    const value = parameters.value.get(field);
    if (value === null || !isGiven(field, value)) continue;
    if (field === 'state') filter.state = value.split(',').filter(isState);
    else filter[field] = value;
  }
  if (filter.state?.length === 0) delete filter.state;
  return filter;
}

export function filterParameters(filter: SearchFilter): Record<string, string | undefined> {
  const { state, ...texts } = filter;
  return { ...texts, ...(state?.length && { state: state.join(',') }) };
}

export const searchHref = (filter: SearchFilter, after?: string | null): string =>
  viewHref('search', { ...filterParameters(filter), ...(after && { after }) });

/** Its end identifies one run of a recurring delay. */
export const delayHref = ({ id, endedAt }: Pick<DelayLine, 'id' | 'endedAt'>): string =>
  viewHref('delay', { id, ...(endedAt !== null && { endedAt }) });

/** A recurring delay has ended many times. */
export const rowId = ({ id, endedAt }: Pick<DelayLine, 'id' | 'endedAt'>): string =>
  `${id} ${endedAt ?? ''}`;
