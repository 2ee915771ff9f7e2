import {
  type DelayFilter,
  DelayInvalidError,
  type DelayName,
  type Duration,
  type EraseFilter,
  type RescheduleTo,
  type When,
} from '../core/index.js';
import {
  blamedOn,
  checkGroup,
  checkId,
  checkKey,
  checkKnownOptions,
  checkName,
  checkText,
  eraseFilter,
  isPlainArray,
  liveFilter,
  parseInstant,
  parseRescheduleTo,
  parseWhen,
  parsePause,
  shown,
} from '../core/ops.js';
import { type OperationAction, rightFor } from './contract.js';
import { notFound } from './exchange.js';
import type { Rights } from './rights.js';
import { checkSearchFilter, filterConditions, scopeWithin } from './search-filter.js';
import { fieldsWhere, type SearchFilter } from './search.table.js';

const WHY_LENGTH_MAX = 1_000;
const IDS_MAX = 1_000;

export interface Selected {
  /** null: none of them is theirs to see. */
  filter: DelayFilter | null;
  /** How many were listed by id; null: they are selected by a filter. */
  listed: number | null;
}

export type Deed =
  | { action: 'runNow' | 'cancel' | 'abort' | 'retry' | 'discard'; which: Selected }
  | { action: 'reschedule'; which: Selected; to: RescheduleTo }
  | { action: 'erase'; erases: EraseFilter }
  | { action: 'pause'; name: DelayName; group: string | undefined; for: Duration | undefined }
  | { action: 'resume'; name: DelayName; group: string | undefined }
  | {
      action: 'create';
      name: DelayName;
      key: string | undefined;
      group: string | undefined;
      payload: unknown;
      when: When;
    };

/** A checked order of a viewer who may give it. */
export interface Order {
  deed: Deed;
  why: string | null;
  /** As it was given, without its payload, and without what it erases. */
  asked: object;
}

const MEMBERS: Record<OperationAction, readonly string[]> = {
  runNow: ['which'],
  cancel: ['which'],
  abort: ['which'],
  retry: ['which'],
  discard: ['which'],
  erase: ['which'],
  reschedule: ['which', 'to'],
  pause: ['name', 'group', 'for'],
  resume: ['name', 'group'],
  create: ['name', 'key', 'group', 'payload', 'after', 'at'],
};

const ACTIONS = Object.keys(MEMBERS) as OperationAction[];

/** @throws DelayInvalidError naming the field; Refusal */
export function parseOrder(body: unknown, rights: Rights): Order {
  const members = Object.values(MEMBERS).flat();
  const { action: wanted } = checkKnownOptions(body, 'order', ['action', 'why', ...members]);
  const action = ACTIONS.find((each) => each === wanted);
  if (action === undefined) {
    throw new DelayInvalidError(
      'action',
      `must be one of ${ACTIONS.join(', ')}, not ${shown(wanted)}`,
    );
  }
  if (!rights.may(rightFor(action))) throw notFound();
  const given = checkKnownOptions(body, 'order', ['action', 'why', ...MEMBERS[action]]);
  const { action: _, why, payload: __, ...asked } = given;
  return {
    deed: parseDeed(action, given, rights),
    why: why === undefined || why === '' ? null : checkText(why, 'why', WHY_LENGTH_MAX),
    asked: action === 'erase' ? { erased: true } : asked,
  };
}

function parseDeed(action: OperationAction, given: Record<string, unknown>, rights: Rights): Deed {
  switch (action) {
    case 'pause': {
      const { for: duration } = given;
      const { name, group } = nameAndGroup(given, rights);
      parsePause(name, { for: duration });
      return { action, name, group, for: duration as Duration | undefined };
    }
    case 'resume':
      return { action, ...nameAndGroup(given, rights) };
    case 'create': {
      const { key, payload } = given;
      return {
        action,
        ...nameAndGroup(given, rights),
        key: key === undefined ? undefined : ownKey(key, rights),
        payload: parsed(payload),
        when: parseOrderedWhen(given),
      };
    }
    case 'reschedule':
      return {
        action,
        which: parseSelected(given['which'], rights),
        to: parseOrderedTo(given['to']),
      };
    case 'erase':
      return { action, erases: parseErased(given['which'], rights) };
    default:
      return { action, which: parseSelected(given['which'], rights) };
  }
}

/** @throws Refusal if they are not the viewer's to see */
function nameAndGroup(
  { name: givenName, group: givenGroup }: Record<string, unknown>,
  rights: Rights,
): { name: DelayName; group: string | undefined } {
  const name = checkName(givenName) as DelayName;
  const group = givenGroup === undefined ? undefined : checkGroup(givenGroup);
  if (!rights.sees({ name, group: group ?? null })) throw notFound();
  return { name, group };
}

/** Keys are unique within a name, so a conflict would reveal a delay of another group. */
function ownKey(key: unknown, { groups }: Rights): string {
  if (groups === null) return checkKey(key);
  throw new DelayInvalidError(
    'key',
    'cannot be given by a viewer of some groups, since all groups of a name share its keys: leave it out',
  );
}

function parsed(payload: unknown): unknown {
  if (typeof payload !== 'string') {
    throw new DelayInvalidError('payload', `must be a text of JSON, not ${shown(payload)}`);
  }
  try {
    return JSON.parse(payload) as unknown;
  } catch {
    throw new DelayInvalidError('payload', 'is not JSON');
  }
}

/** Without an instant: now. */
function parseOrderedWhen({ after, at }: Record<string, unknown>): When {
  if (after === undefined && at === undefined) return { after: 0 };
  const when = {
    ...(after !== undefined && { after }),
    ...(at !== undefined && { at: parseInstant(at, 'at') }),
  };
  parseWhen(when);
  return when as When;
}

function parseOrderedTo(given: unknown): RescheduleTo {
  const { at, ...others } = checkKnownOptions(given, 'to', ['at', 'after', 'extendBy']);
  const to = { ...others, ...(at !== undefined && { at: parseInstant(at, 'to.at') }) };
  blamedOn('to', () => parseRescheduleTo(to));
  return to as RescheduleTo;
}

function parseSelected(given: unknown, rights: Rights): Selected {
  const { ids, filter } = checkKnownOptions(given, 'which', ['ids', 'filter']);
  if ((ids === undefined) === (filter === undefined)) {
    throw new DelayInvalidError('which', 'give either ids or filter');
  }
  if (ids !== undefined) {
    const id = parseIds(ids);
    return { filter: ofViewer({ id }, rights), listed: id.length };
  }
  const wanted = blamedOn('which', () => parseDelayFilter(filter));
  return { filter: ofViewer(wanted, rights), listed: null };
}

/** An erase reaches everything about one person, more than a restricted viewer may see. */
function parseErased(given: unknown, { seesAll }: Rights): EraseFilter {
  if (!seesAll) {
    throw new DelayInvalidError(
      'action',
      'erase is not for a viewer of some names or groups: it also removes what operations of others say',
    );
  }
  const { filter } = checkKnownOptions(given, 'which', ['filter']);
  return blamedOn('which', () => {
    const wanted = parseDelayFilter(filter, PERSONAL);
    eraseFilter(wanted);
    return wanted;
  });
}

function parseIds(ids: unknown): string[] {
  if (!Array.isArray(ids) || !isPlainArray(ids) || ids.length < 1 || ids.length > IDS_MAX) {
    throw new DelayInvalidError('which.ids', `must be a list of 1 to ${IDS_MAX}`);
  }
  return [...new Set(ids.map((id) => blamedOn('which.ids', () => String(checkId(id)))))];
}

const LIVE = fieldsWhere(({ isGuess, isPast }) => isGuess === undefined && isPast === undefined);
const PERSONAL = fieldsWhere(({ isPersonal }, name) => isPersonal === true || name === 'name');

/**
 * A search for live delays, with at least one condition. What only a search guesses (`q`) is
 * refused: a viewer must know what will change.
 * @throws DelayInvalidError naming the field
 */
function parseDelayFilter(given: unknown, fields = LIVE): DelayFilter {
  const known = checkKnownOptions(given, 'filter', fields);
  const filter = blamedOn('filter', () =>
    filterConditions(checkSearchFilter(known)),
  ) as DelayFilter;
  liveFilter(filter, { mayBeEmpty: false });
  return filter;
}

/** Both what is asked for and what the viewer may see. @returns null: nothing */
function ofViewer(filter: DelayFilter, rights: Rights): DelayFilter | null {
  const scope = scopeWithin(filter as SearchFilter, rights);
  return scope && { ...filter, ...(scope as DelayFilter) };
}
