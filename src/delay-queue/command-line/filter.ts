import { userInfo } from 'node:os';
import type { DelayName, LiveState } from '../api/delay.js';
import type { DelayFilter, DelayTarget } from '../api/selection.js';
import { printable, quoted } from '../api/error-text.js';
import { type Arguments, WrongUsage } from './parse.js';
import type { OptionName } from './options.js';

/** The filter that the options make; without any it is empty. @throws WrongUsage */
export function filterFrom(given: Arguments): DelayFilter {
  const headers = given.texts('header');
  const state = given.texts('state') as LiveState[] | undefined;
  const filter: DelayFilter = {
    ...(given.has('name') && { name: given.texts('name') as DelayName[] }),
    ...(headers !== undefined && { headers: Object.fromEntries(headers.map(headerOf)) }),
    ...(state !== undefined && { state }),
  };
  for (const [option, field] of TEXTS) {
    const text = given.text(option);
    if (text !== undefined) Object.assign(filter, { [field]: text });
  }
  for (const [option, field] of INSTANTS) {
    const at = instantFrom(given, option);
    if (at !== undefined) Object.assign(filter, { [field]: at });
  }
  return filter;
}

const TEXTS = [
  ['key', 'key'],
  ['key-prefix', 'keyPrefix'],
  ['group', 'group'],
  ['group-prefix', 'groupPrefix'],
  ['error', 'error'],
] as const satisfies readonly [OptionName, keyof DelayFilter][];

const INSTANTS = [
  ['due-from', 'dueFrom'],
  ['due-before', 'dueBefore'],
] as const satisfies readonly [OptionName, keyof DelayFilter][];

function headerOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new WrongUsage(`--header must be NAME=TEXT, not ${quoted(text, 60)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** With its zone: without one it would be the machine's. */
const INSTANT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))$/;

/** @throws WrongUsage */
export function instantFrom(given: Arguments, option: OptionName): Date | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  const at = new Date(INSTANT.test(text) ? text : NaN);
  if (!Number.isNaN(at.getTime())) return at;
  throw new WrongUsage(
    `--${option} must be an instant with its zone, like 2026-01-31T09:30:00Z, not ${quoted(text, 60)}`,
  );
}

/** Of `DelayTarget`, for a call that takes one or many. @throws WrongUsage */
export function targetFrom(given: Arguments): DelayTarget | undefined {
  const [name, key] = given.positional;
  if (name === undefined) return undefined;
  if (key !== undefined) return { name, key } as DelayTarget;
  throw new WrongUsage(
    `the KEY is missing; all delays of a name are --name ${printable(name, 100)}`,
  );
}

/** Who asks for a change: as given, or who runs this. */
export function byFrom(given: Arguments): { by?: string } {
  const by = given.text('by') ?? userHere();
  return by === undefined ? {} : { by };
}

/** Undefined in a container whose user has no name. */
function userHere(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}

/** A positive number. @throws WrongUsage */
export function limitFrom(given: Arguments): number | undefined {
  const text = given.text('limit');
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new WrongUsage(`--limit must be a number, not ${quoted(text, 60)}`);
}
