import { userInfo } from 'node:os';
import { type DelayFilter, type DelayTarget, printable, quoted } from '../core/index.js';
import { FILTER_FLAGS } from '../core/diagnosis.js';
import { parseInstant } from '../core/ops.js';
import { type Arguments, WrongUsage } from './parse.js';
import { FILTER, type OptionName } from './options.js';

/** The filter that the options make; without any it is empty. @throws WrongUsage, DelayInvalidError */
export function filterFrom(given: Arguments): DelayFilter {
  const fields = [...FILTER, 'state' as const].flatMap((option): [string, unknown][] => {
    const { field, value, isMany } = FILTER_FLAGS[option];
    const texts = given.texts(option);
    if (texts === undefined) return [];
    if (value === 'NAME=TEXT') return [[field, Object.fromEntries(texts.map(headerFrom))]];
    if (value === 'INSTANT') return [[field, instantFrom(given, option)]];
    return [[field, isMany ? texts : texts[0]]];
  });
  return Object.fromEntries(fields);
}

function headerFrom(text: string): [string, string] {
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
