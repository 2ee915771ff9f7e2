import { expect, it } from '@jest/globals';
import { COMMANDS } from '../../src/delay-queue/cli/commands.js';
import { generalHelp, helpOf } from '../../src/delay-queue/cli/help.js';
import { parse } from '../../src/delay-queue/cli/parse.js';
import { allDocuments, codeBlocks, readDocument } from './documents.js';

const PAGE = readDocument('docs/command-line.md');

/** As the page has it: options that every command takes are named once. */
const blockOf = (help: string): string =>
  `\`\`\`text\n${help.replaceAll(/^ {2}(?:--url URL|--schema SCHEMA|--json|-h, --help) .*\n?/gm, '').trimEnd()}\n\`\`\`\n`;

it('docs/command-line.md has the help of all commands, as the program prints it', () => {
  const written = [
    blockOf(generalHelp()),
    ...Object.keys(COMMANDS).map((name) => `### ${name}\n\n${blockOf(helpOf(name))}`),
  ].join('\n');
  const [, commands = ''] = PAGE.text.split('## Commands\n\n');
  expect(commands).toBe(written);
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
