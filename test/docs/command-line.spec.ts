import { expect, it } from '@jest/globals';
import {
  type Command,
  COMMANDS,
  type Option,
  type OptionName,
  OPTIONS,
  parse,
} from '../support/command-line.js';
import { allDocuments, codeBlocks, readDocument, tableUnder } from './documents.js';

const PAGE = readDocument('docs/command-line.md');

const commands: [string, Command][] = Object.entries(COMMANDS);

it('docs/command-line.md has every command, in the words of its help', () => {
  const takers = (more: string) => commands.filter((command) => command[1].more === more).length;
  const shared = commands.flatMap(([, { more }]) => more ?? []).filter((more) => takers(more) > 1);
  const said = commands.map(([name, { positional, about, more = '' }]) => [
    `\`${[name, ...positional].join(' ')}\``,
    [about, shared.includes(more) ? '' : more].join(' ').replaceAll(/\s+/g, ' ').trim(),
  ]);
  expect(tableUnder(PAGE, 'Commands').slice(1)).toEqual(said);
  expect(shared.filter((more) => !PAGE.text.includes(more))).toEqual([]);
});

/** Under one heading and text all commands that have it so. */
function optionRows(): string[][] {
  const rows = new Map<string, { cells: string[]; takers: string[] }>();
  for (const option of Object.keys(OPTIONS) as OptionName[]) {
    for (const [command, { options, its }] of commands) {
      if (!options.includes(option)) continue;
      const { value, short, about }: Option = its?.[option] ?? OPTIONS[option];
      const flag = `--${option}${value === undefined ? '' : ` ${value}`}`;
      const cells = [`\`${short === undefined ? flag : `-${short}, ${flag}`}\``, about];
      const row = rows.get(cells.join()) ?? { cells, takers: [] };
      rows.set(cells.join(), { cells, takers: [...row.takers, `\`${command}\``] });
    }
  }
  return [...rows.values()].map(({ cells, takers }) => {
    const others = commands.map(([name]) => `\`${name}\``).filter((name) => !takers.includes(name));
    if (others.length === 0) return [...cells, 'all'];
    if (others.length === 1) return [...cells, `all but ${others.join(', ')}`];
    return [...cells, takers.join(', ')];
  });
}

it('docs/command-line.md has every option, in the words of the help, with the commands that take it', () => {
  expect(tableUnder(PAGE, 'Options').slice(1)).toEqual(optionRows());
});

const PROGRAM = /^npx nestjs-delay-queue /;

it('every command line of the documents is one that the program takes', () => {
  const lines = allDocuments().flatMap((document) =>
    codeBlocks(document, 'sh').flatMap(({ code }) => code.trim().split('\n')),
  );
  const ours = lines.filter((line) => PROGRAM.test(line));
  expect(ours.length).toBeGreaterThan(10);
  for (const line of ours) {
    const args =
      line
        .replace(PROGRAM, '')
        .replace(/ +#.*$/, '')
        .match(/'[^']*'|\S+/g) ?? [];
    expect(() => parse(args.map((arg) => arg.replaceAll("'", '')))).not.toThrow();
  }
});
