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
  label: readonly [en: string, zh: string];
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
  q: { kind: 'text', label: ['Find', '查找'], isElsewhere: true, isGuess: true },
  name: { kind: 'text', label: ['Name', '名称'] },
  group: { kind: 'text', label: ['Group', '分组'], isPersonal: true },
  key: { kind: 'text', label: ['Key', '键'], isPersonal: true },
  keyPrefix: { kind: 'text', label: ['Key begins with', '键的开头'], isPersonal: true },
  /** The last error contains it, in any case. */
  error: { kind: 'text', label: ['Error contains', '错误包含'] },
  /**
   * The first line of the last error, at most 200 characters, is this; `#` stands for any number, id
   * or address. '': it has none.
   */
  errorLine: { kind: 'text', label: ['Error', '错误'], isElsewhere: true, mayBeEmpty: true },
  /** `header:value`. */
  header: { kind: 'text', label: ['Header', '标头'], isPersonal: true },
  id: { kind: 'text', label: ['Id', '编号'] },
  /** Live or ended states; live ones if left out. In an address with commas. */
  state: { kind: 'states', label: ['State', '状态'], isElsewhere: true },
  dueFrom: { kind: 'instant', label: ['Due from', '到期不早于'] },
  dueBefore: { kind: 'instant', label: ['Due before', '到期早于'] },
  endedFrom: { kind: 'instant', label: ['Ended from', '结束不早于'], isPast: true },
  endedBefore: { kind: 'instant', label: ['Ended before', '结束早于'], isPast: true },
} as const satisfies Record<string, SearchField>;

export type SearchFieldName = keyof typeof SEARCH_FIELDS;

/** As the query of `api/search` and in bodies. Each is a text; lists have commas in a query. */
export type SearchFilter = {
  -readonly [Name in SearchFieldName]?: (typeof SEARCH_FIELDS)[Name]['kind'] extends 'states'
    ? readonly SearchState[]
    : string;
};

/** Delays that are due and not running: late, or held. */
export const overdueAt = (now: string): SearchFilter => ({
  state: ['scheduled', 'retrying'],
  dueBefore: now,
});

export const dueWithin = (dueFrom: string, dueBefore: string): SearchFilter => ({
  dueFrom,
  dueBefore,
});

/** Dead letters that failed alike. */
export const deadAlike = (name: string, errorLine: string): SearchFilter => ({
  name,
  state: ['dead'],
  errorLine,
});

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
