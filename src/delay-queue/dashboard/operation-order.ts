import type { DelayName, Duration, RescheduleTo, When } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { DelayFilter } from '../api/selection.js';
import { filterOf } from '../client/arguments.js';
import { parseDurationMs, parseRescheduleTo, parseWhen } from '../config/durations.js';
import { blamedOn, checkKnownOptions, isPlainArray, shown } from '../config/known-options.js';
import { checkGroup, checkId, checkKey, checkName, checkText } from '../config/schedule-options.js';
import type { DashboardAction, OperationAction } from './contract.js';
import { notFound } from './exchange.js';
import type { Rights } from './rights.js';

const WHY_LENGTH_MAX = 1_000;
const IDS_MAX = 1_000;

/** Which delays a viewer means, of those that they may see. */
export interface Selected {
  /** null: none of them is theirs to see. */
  filter: DelayFilter | null;
  /** How many were listed by id; null: they are selected by a filter. */
  listed: number | null;
}

/** What is to be done. */
export type Deed =
  | { action: 'runNow' | 'cancel' | 'abort' | 'retry' | 'discard'; which: Selected }
  | { action: 'reschedule'; which: Selected; to: RescheduleTo }
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
  /** As it was given, without its payload. */
  asked: object;
}

const MEMBERS: Record<OperationAction, readonly string[]> = {
  runNow: ['which'],
  cancel: ['which'],
  abort: ['which'],
  retry: ['which'],
  discard: ['which'],
  reschedule: ['which', 'to'],
  pause: ['name', 'group', 'for'],
  resume: ['name', 'group'],
  create: ['name', 'key', 'group', 'payload', 'after', 'at'],
};

const ACTIONS = Object.keys(MEMBERS) as OperationAction[];

/** The right that an operation needs. */
export const rightFor = (action: OperationAction): DashboardAction =>
  action === 'resume' ? 'pause' : action;

/** @throws DelayInvalidError naming the field; Refusal */
export function orderOf(body: unknown, rights: Rights): Order {
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
    deed: deedOf(action, given, rights),
    why: why === undefined || why === '' ? null : checkText(why, 'why', WHY_LENGTH_MAX),
    asked,
  };
}

function deedOf(action: OperationAction, given: Record<string, unknown>, rights: Rights): Deed {
  switch (action) {
    case 'pause': {
      const { for: duration } = given;
      if (duration !== undefined) parseDurationMs(duration, 'for');
      return { action, ...nameAndGroup(given, rights), for: duration as Duration | undefined };
    }
    case 'resume':
      return { action, ...nameAndGroup(given, rights) };
    case 'create': {
      const { key, payload } = given;
      return {
        action,
        ...nameAndGroup(given, rights),
        key: key === undefined ? undefined : checkKey(key),
        payload: parsed(payload),
        when: whenOf(given),
      };
    }
    case 'reschedule':
      return { action, which: selectedOf(given['which'], rights), to: toOf(given['to']) };
    default:
      return { action, which: selectedOf(given['which'], rights) };
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
function whenOf({ after, at }: Record<string, unknown>): When {
  if (after === undefined && at === undefined) return { after: 0 };
  const when = {
    ...(after !== undefined && { after }),
    ...(at !== undefined && { at: instant(at, 'at') }),
  };
  parseWhen(when);
  return when as When;
}

function toOf(given: unknown): RescheduleTo {
  const { at, ...others } = checkKnownOptions(given, 'to', ['at', 'after', 'extendBy']);
  const to = { ...others, ...(at !== undefined && { at: instant(at, 'to.at') }) };
  blamedOn('to', () => parseRescheduleTo(to));
  return to as RescheduleTo;
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z$/;

function instant(value: unknown, field: string): Date {
  const at = new Date(typeof value === 'string' && INSTANT.test(value) ? value : Number.NaN);
  if (!Number.isNaN(at.getTime())) return at;
  throw new DelayInvalidError(
    field,
    `must be an instant like 2030-01-31T09:00:00Z, not ${shown(value)}`,
  );
}

function selectedOf(given: unknown, rights: Rights): Selected {
  const { ids, filter } = checkKnownOptions(given, 'which', ['ids', 'filter']);
  if ((ids === undefined) === (filter === undefined)) {
    throw new DelayInvalidError('which', 'give either ids or filter');
  }
  if (ids !== undefined) {
    const id = idsOf(ids);
    return { filter: ofViewer({ id }, rights), listed: id.length };
  }
  return {
    filter: ofViewer(
      blamedOn('which', () => delayFilterOf(filter)),
      rights,
    ),
    listed: null,
  };
}

function idsOf(ids: unknown): string[] {
  if (!Array.isArray(ids) || !isPlainArray(ids) || ids.length < 1 || ids.length > IDS_MAX) {
    throw new DelayInvalidError('which.ids', `must be a list of 1 to ${IDS_MAX}`);
  }
  return [...new Set(ids.map((id) => blamedOn('which.ids', () => String(checkId(id)))))];
}

const FILTER = [
  'name',
  'key',
  'keyPrefix',
  'group',
  'state',
  'dueFrom',
  'dueBefore',
  'error',
  'errorLine',
  'header',
  'id',
];

/**
 * A search, as `DelayAdmin` takes it. What a search may guess (`q`), or find among ended delays, is
 * refused: an operator must see what will change.
 * @throws DelayInvalidError
 */
function delayFilterOf(given: unknown): DelayFilter {
  const { dueFrom, dueBefore, header, ...rest } = checkKnownOptions(given, 'filter', FILTER);
  const filter = {
    ...rest,
    ...(dueFrom !== undefined && { dueFrom: instant(dueFrom, 'filter.dueFrom') }),
    ...(dueBefore !== undefined && { dueBefore: instant(dueBefore, 'filter.dueBefore') }),
    ...(header !== undefined && { headers: headerOf(header) }),
  };
  // Each is a single one, with which the viewer's own are compared.
  for (const field of ['name', 'group', 'id']) {
    if (Array.isArray(rest[field])) {
      throw new DelayInvalidError(`filter.${field}`, 'must be a text, not an array');
    }
  }
  filterOf(filter, { mayBeEmpty: false });
  return filter;
}

function headerOf(header: unknown): Record<string, string> {
  const [, name, value] = (typeof header === 'string' && /^([^:]+):(.*)$/s.exec(header)) || [];
  if (name === undefined || value === undefined) {
    throw new DelayInvalidError('filter.header', `must be like name:value, not ${shown(header)}`);
  }
  return Object.fromEntries([[name, value]]);
}

/** Both what is asked for and what the viewer may see. @returns null: nothing */
function ofViewer(filter: DelayFilter, { names, groups }: Rights): DelayFilter | null {
  const name = within(filter.name as string | undefined, names);
  const group = within(filter.group as string | undefined, groups);
  if (name === null || group === null) return null;
  return { ...filter, ...(name && { name }), ...(group && { group }) } as DelayFilter;
}

function within(
  wanted: string | undefined,
  allowed: readonly string[] | null,
): string | readonly string[] | null | undefined {
  if (allowed === null) return wanted;
  if (wanted === undefined) return allowed;
  return allowed.includes(wanted) ? wanted : null;
}
