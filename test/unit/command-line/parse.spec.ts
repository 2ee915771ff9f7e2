import { describe, expect, it } from '@jest/globals';
import { COMMANDS } from '../../../src/delay-queue/cli/commands.js';
import { filterFrom } from '../../../src/delay-queue/cli/filter.js';
import { generalHelp, commandHelp } from '../../../src/delay-queue/cli/help.js';
import { likelyWord, parse } from '../../../src/delay-queue/cli/parse.js';

describe('what is wrong with a command line is said, and what would be right', () => {
  it.each([
    [['statsu'], /no command "statsu"; did you mean status\?/],
    [['frobnicate'], /no command "frobnicate"; see nestjs-delay-queue --help/],
    [['list', '--nmae', 'a'], /list has no option "--nmae"; did you mean --name\?/],
    [['list', '--yes'], /list has no option "--yes"; see nestjs-delay-queue list --help/],
    [['list', '-x'], /list has no option "-x"/],
    [['--schema', 'a'], /nestjs-delay-queue has no option "--schema"/],
    [['list', '--name'], /--name needs a value/],
    [
      ['list', '--name', '--json'],
      /--name needs a value; one that begins with - is written --name=VALUE/,
    ],
    [['list', '--json=yes'], /--json takes no value/],
    [['list', '--key', 'a', '--key', 'b'], /--key is given twice/],
    [['status', 'now'], /more arguments than status takes: nestjs-delay-queue status/],
    [['pause'], /NAME is missing: nestjs-delay-queue pause NAME/],
    [['pause', 'a', 'b'], /more arguments than pause takes/],
    [['list', '\u001b[2J'], /more arguments than list takes/],
    [['\u001b[2J'], /no command "\\u001b\[2J"/],
    [['constructor'], /no command "constructor"/],
    [['list', '--constructor'], /no option "--constructor"/],
    [['list', '--__proto__=1'], /no option "--__proto__"/],
  ])('%j', (args, message) => {
    expect(() => parse(args)).toThrow(message);
  });

  it('a surplus argument is not repeated: it may be a URL with its password', () => {
    const url = 'postgres://shop:secret@db/shop';
    expect(() => parse(['status', url])).toThrow(/^(?!.*secret)/);
  });

  it.each(Object.keys(COMMANDS))('%s --help is told whatever else is given', (command) => {
    expect(parse([command, '--help', 'a', 'b', 'c', 'd']).has('help')).toBe(true);
  });
});

it('a value that begins with a dash is given with =, and a key behind --', () => {
  expect(parse(['list', '--key=-5']).text('key')).toBe('-5');
  expect(parse(['cancel', '--', 'order.close', '--all']).positional).toEqual([
    'order.close',
    '--all',
  ]);
});

it('the nearest word is meant, and none that is far', () => {
  expect(likelyWord('stat', ['status', 'story'])).toBe('status');
  expect(likelyWord('resched', ['retry', 'reschedule'])).toBe('reschedule');
  expect(likelyWord('x'.repeat(10_000), ['status'])).toBeUndefined();
});

const filter = (...args: string[]) => filterFrom(parse(['list', ...args]));

describe('a filter', () => {
  it('has the fields of DelayAdmin', () => {
    const given = ['--name', 'a', '--name', 'b', '--key-prefix', 'k', '--group', 'g'];
    const more = ['--header', 'tenant=7=7', '--header', 'x=', '--state', 'dead', '--error', 'no'];
    const times = ['--due-from', '2026-01-31T09:30:00+01:00', '--due-before', '2026-02-01T00:00Z'];
    expect(filter(...given, ...more, ...times)).toEqual({
      name: ['a', 'b'],
      keyPrefix: 'k',
      group: 'g',
      headers: { tenant: '7=7', x: '' },
      state: ['dead'],
      error: 'no',
      dueFrom: new Date('2026-01-31T08:30:00Z'),
      dueBefore: new Date('2026-02-01T00:00:00Z'),
    });
    expect(filter()).toEqual({});
  });

  it.each([
    ['--header', 'tenant'],
    ['--header', '=7'],
  ])('refuses %s %s', (option, value) => {
    expect(() => filter(option, value)).toThrow(new RegExp(`^${option} must be`));
  });
});

it('the help names each command, and that of a command each of its options', () => {
  for (const [name, { options }] of Object.entries(COMMANDS)) {
    expect(generalHelp()).toMatch(new RegExp(`^  ${name} `, 'm'));
    for (const option of options) expect(commandHelp(name)).toMatch(new RegExp(`--${option}\\b`));
  }
});

it('no line of the help is longer than a terminal', () => {
  const lines = [generalHelp(), ...Object.keys(COMMANDS).map(commandHelp)].join('\n').split('\n');
  expect(lines.filter(({ length }) => length > 120)).toEqual([]);
});
