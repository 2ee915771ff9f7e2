import { type Command, COMMANDS } from './commands.js';
import { PROGRAM } from '../ops/checks/words.js';
import { findCommand } from './parse.js';
import { type Option, OPTIONS } from './options.js';

const EXIT_CODES =
  'Exit codes: 0 done; 1 failed, not all was changed, or a problem was found; 2 wrong usage;\n' +
  '3 explain found no such delay; 130 ended by Ctrl-C.';

/** Of all commands. */
export function generalHelp(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));
  const commands = Object.entries(COMMANDS).map(
    ([name, { about }]) => `  ${name.padEnd(width)}  ${about}`,
  );
  return [
    `Usage: ${PROGRAM} COMMAND [OPTIONS]`,
    '',
    'Reads and changes the delays of an application, on its database.',
    '',
    ...commands,
    '',
    `${PROGRAM} COMMAND --help describes a command; --version prints the version.`,
    '',
    EXIT_CODES,
  ].join('\n');
}

/** Of one command. @throws WrongUsage when there is none of that name */
export function commandHelp(name: string): string {
  const { positional, about, more, options, its }: Command = findCommand(name);
  const lines = options.map((option) => {
    const { value, short, about: text }: Option = its?.[option] ?? OPTIONS[option];
    const shortly = short === undefined ? '' : `-${short}, `;
    return [`  ${shortly}--${option}${value === undefined ? '' : ` ${value}`}`, text] as const;
  });
  const width = Math.max(...lines.map(([{ length }]) => length));
  return [
    `Usage: ${[PROGRAM, name, ...positional, '[OPTIONS]'].join(' ')}`,
    '',
    about,
    ...(more === undefined ? [] : ['', more]),
    '',
    ...lines.map(([option, text]) => `${option.padEnd(width)}  ${text}`),
  ].join('\n');
}
