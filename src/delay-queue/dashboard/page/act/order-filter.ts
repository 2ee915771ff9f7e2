import type { SearchFilter, SearchPage, SearchState } from '../../contract.js';

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
