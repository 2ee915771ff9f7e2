import { parseArgs } from 'node:util';
import { nearest } from '../core/diagnosis.js';
import { quoted } from '../core/index.js';
import { type Command, COMMANDS, isCommand } from './commands.js';
import { PROGRAM } from '../ops/checks/words.js';
import { isOption, type Option, type OptionName, OPTIONS } from './options.js';

/** The command line is wrong; its message says what would be right. Exit code 2. */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage';
}

/** What was given to a command. */
export class Arguments {
  constructor(
    /** Undefined: none, as in `--help`. */
    readonly command: string | undefined,
    readonly positional: readonly string[],
    private readonly values: ReadonlyMap<OptionName, readonly string[]>,
  ) {}

  has(name: OptionName): boolean {
    return this.values.has(name);
  }

  text(name: OptionName): string | undefined {
    return this.values.get(name)?.[0];
  }

  /** Undefined: none was given. */
  texts(name: OptionName): readonly string[] | undefined {
    return this.values.get(name);
  }

  get names(): OptionName[] {
    return [...this.values.keys()];
  }
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];

/** @throws WrongUsage */
export function parse(args: readonly string[]): Arguments {
  const tokens = tokenize(args);
  const [command, ...positional] = tokens.flatMap((token) =>
    token.kind === 'positional' ? [token.value] : [],
  );
  const values = new Map<OptionName, string[]>();
  const known = command === undefined ? undefined : findCommand(command);
  const allowed = known?.options ?? ['help', 'version'];
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const name = knownOption(token.name, token.rawName, allowed, command);
    const list = values.get(name) ?? [];
    if (list.length > 0 && !('isMany' in OPTIONS[name])) {
      throw new WrongUsage(`--${name} is given twice`);
    }
    list.push(optionValue(name, token));
    values.set(name, list);
  }
  const given = new Arguments(command, positional, values);
  if (known !== undefined && !given.has('help')) checkPositional(given, known);
  return given;
}

/** Not strict: the refusals are ours, so that they can say what was meant. */
function tokenize(args: readonly string[]): Token[] {
  const options = Object.fromEntries(
    (Object.entries(OPTIONS) as [string, Option][]).map(([name, { value, short }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short !== undefined && { short }),
      },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens;
}

function knownOption(
  name: string,
  raw: string,
  allowed: readonly OptionName[],
  command: string | undefined,
): OptionName {
  if (isOption(name) && allowed.includes(name)) return name;
  const where = command === undefined ? PROGRAM : command;
  const meant = likelyWord(name, allowed);
  const hint =
    meant === undefined
      ? `see ${PROGRAM} ${command === undefined ? '' : `${command} `}--help`
      : `did you mean --${meant}?`;
  throw new WrongUsage(`${where} has no option ${quoted(raw, 40)}; ${hint}`);
}

function optionValue(name: OptionName, token: Extract<Token, { kind: 'option' }>): string {
  const takesOne = 'value' in OPTIONS[name];
  if (!takesOne) {
    if (token.value === undefined) return '';
    throw new WrongUsage(`--${name} takes no value`);
  }
  const isNext = token.inlineValue === false;
  if (token.value === undefined || (isNext && token.value.startsWith('-'))) {
    throw new WrongUsage(
      `--${name} needs a value; one that begins with - is written --${name}=VALUE`,
    );
  }
  return token.value;
}

/** @throws WrongUsage */
export function findCommand(name: string): Command {
  if (isCommand(name)) return COMMANDS[name];
  const meant = likelyWord(name, Object.keys(COMMANDS));
  const hint = meant === undefined ? `see ${PROGRAM} --help` : `did you mean ${meant}?`;
  throw new WrongUsage(`there is no command ${quoted(name, 40)}; ${hint}`);
}

function checkPositional({ command, positional }: Arguments, known: Command): void {
  const { length } = known.positional.filter((each) => !each.startsWith('['));
  const usage = [PROGRAM, command, ...known.positional].join(' ');
  if (positional.length < length) {
    throw new WrongUsage(`${known.positional[positional.length]} is missing: ${usage}`);
  }
  // Not quoted: it may be a URL with a password.
  if (positional.length > known.positional.length) {
    throw new WrongUsage(`more arguments than ${command} takes: ${usage}`);
  }
}

/** The word that was probably meant: one that begins so, or the nearest. */
export const likelyWord = <Word extends string>(
  word: string,
  words: readonly Word[],
): Word | undefined =>
  words.find((each) => word.length > 1 && each.startsWith(word)) ??
  nearest(word, words, word.length < 4 ? 1 : undefined);
