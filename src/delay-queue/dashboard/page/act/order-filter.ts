import type { SearchPage } from '../../contract.js';
import {
  LIVE_STATES,
  type SearchFieldName,
  SEARCH_FIELDS,
  type SearchFilter,
} from '../../search.table.js';

const has = (field: string, property: 'isPast' | 'isPersonal'): boolean =>
  property in SEARCH_FIELDS[field as SearchFieldName];

/**
 * The filter for an operation on everything that matches. An order guesses nothing, so the text of the
 * search field becomes the field that the search took it for.
 * @returns null: they cannot be changed together, such as ended delays, or every delay there is
 */
export function toOrderFilter(
  { q, ...filter }: SearchFilter,
  meaning: SearchPage['meaning'],
): SearchFilter | null {
  if (Object.keys(filter).some((field) => has(field, 'isPast'))) return null;
  if (filter.state?.some((state) => !LIVE_STATES.some((live) => live === state))) return null;
  if (q === undefined) return Object.keys(filter).length > 0 ? filter : null;
  if (meaning === null || meaning === 'nothing' || filter[meaning] !== undefined) return null;
  return { ...filter, [meaning]: q };
}

/** What an erase takes. @returns null: not of one person */
export function toEraseFilter(
  filter: SearchFilter,
  meaning: SearchPage['meaning'],
): SearchFilter | null {
  const its = toOrderFilter(filter, meaning) ?? {};
  const fields = Object.keys(its).filter((field) => field !== 'name');
  return fields.length > 0 && fields.every((field) => has(field, 'isPersonal')) ? its : null;
}
