import { userInfo } from 'node:os';
import type { DelayName, LiveState } from '../api/delay.js';
import type { DelayFilter, DelayTarget } from '../api/selection.js';
import { printable, quoted } from '../api/error-text.js';
import { type Arguments, WrongUsage } from './parse.js';
import { parseInstant } from '../config/instants.js';
import type { OptionName } from './options.js';

/** The filter that the options make; without any it is empty. @throws WrongUsage, DelayInvalidError */
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

/** @throws DelayInvalidError */
export function instantFrom(given: Arguments, option: OptionName): Date | undefined {
  const text = given.text(option);
  return text === undefined ? undefined : parseInstant(text, option);
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
