import type { SearchFilter, SearchPage, SearchState } from '../../contract.js';

/** What belongs to one person; a name narrows it. */
const OF_ONE = ['key', 'keyPrefix', 'group', 'header'];

const LIVE: readonly SearchState[] = ['scheduled', 'running', 'retrying', 'dead'];

/**
 * What an operation on all that match takes: an order guesses nothing, so the text of the one field
 * is what the search has taken it for.
 * @returns null: they cannot be changed together, as what has ended, and all there are
 */
export function orderFilterOf(
  { q, ...filter }: SearchFilter,
  meaning: SearchPage['meaning'],
): SearchFilter | null {
  const { state, endedFrom, endedBefore } = filter;
  if (endedFrom !== undefined || endedBefore !== undefined) return null;
  if (state?.some((each) => !LIVE.includes(each))) return null;
  if (q === undefined) return Object.keys(filter).length > 0 ? filter : null;
  if (meaning === null || meaning === 'nothing' || filter[meaning] !== undefined) return null;
  return { ...filter, [meaning]: q };
}

/** What an erase takes. @returns null: not of one person */
export function eraseFilterOf(
  filter: SearchFilter,
  meaning: SearchPage['meaning'],
): SearchFilter | null {
  const its = orderFilterOf(filter, meaning) ?? {};
  const fields = Object.keys(its).filter((field) => field !== 'name');
  return fields.length > 0 && fields.every((field) => OF_ONE.includes(field)) ? its : null;
}
