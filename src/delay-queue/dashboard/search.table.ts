/** The fields of a search, for both sides: what the server checks, and what the page shows. */

import type { EndState, LiveState } from '../core/index.js';

export type SearchState = LiveState | EndState;

export const LIVE_STATES: readonly LiveState[] = ['scheduled', 'running', 'retrying', 'dead'];
export const END_STATES: readonly EndState[] = [
  'completed',
  'cancelled',
  'discarded',
  'superseded',
];
export const SEARCH_STATES: readonly SearchState[] = [...LIVE_STATES, ...END_STATES];

interface SearchField {
  kind: 'text' | 'instant' | 'states';
  /** The form has no input for it. */
  isElsewhere?: true;
  /** What it means is guessed, so only a search has it. */
  isGuess?: true;
  isPast?: true;
  /** It selects what belongs to one person. */
  isPersonal?: true;
  mayBeEmpty?: true;
}

/** In the order of the chips on the page. The parameters of an address have the same names. */
export const SEARCH_FIELDS = {
  /** One field: an exact key first, then an id, a name, a group. */
  q: { kind: 'text', isElsewhere: true, isGuess: true },
  name: { kind: 'text' },
  group: { kind: 'text', isPersonal: true },
  key: { kind: 'text', isPersonal: true },
  keyPrefix: { kind: 'text', isPersonal: true },
  /** The last error contains it, in any case. */
  error: { kind: 'text' },
  /**
   * The first line of the last error, at most 200 characters, is this; `#` stands for any number, id
   * or address. '': it has none.
   */
  errorLine: { kind: 'text', isElsewhere: true, mayBeEmpty: true },
  /** `header:value`. */
  header: { kind: 'text', isPersonal: true },
  id: { kind: 'text' },
  /** Live or ended states; live ones if left out. In an address with commas. */
  state: { kind: 'states', isElsewhere: true },
  dueFrom: { kind: 'instant' },
  dueBefore: { kind: 'instant' },
  endedFrom: { kind: 'instant', isPast: true },
  endedBefore: { kind: 'instant', isPast: true },
} as const satisfies Record<string, SearchField>;

export type SearchFieldName = keyof typeof SEARCH_FIELDS;

/** As the query of `api/search` and in bodies. Each is a text; lists have commas in a query. */
export type SearchFilter = {
  -readonly [Name in SearchFieldName]?: (typeof SEARCH_FIELDS)[Name]['kind'] extends 'states'
    ? readonly SearchState[]
    : string;
};

const ENTRIES = Object.entries(SEARCH_FIELDS) as [SearchFieldName, SearchField][];

export const fieldsWhere = (
  holds: (field: SearchField, name: SearchFieldName) => boolean,
): SearchFieldName[] => ENTRIES.flatMap(([name, field]) => (holds(field, name) ? [name] : []));

const isText = (name: SearchFieldName): name is Exclude<SearchFieldName, 'state'> =>
  name !== 'state';

export const TEXT_FIELDS = fieldsWhere(() => true).filter(isText);

/** An address leaves a field empty that is not given. */
export const isGiven = (name: SearchFieldName, text: string): boolean =>
  text !== '' || (SEARCH_FIELDS[name].kind === 'text' && 'mayBeEmpty' in SEARCH_FIELDS[name]);

/** Whether the form has an input of that kind for it. */
export const isInput = (name: SearchFieldName, kind: 'text' | 'instant'): boolean =>
  SEARCH_FIELDS[name].kind === kind && !('isElsewhere' in SEARCH_FIELDS[name]);
