import { describe, expect, it } from '@jest/globals';
import { commandOf, parseCommandLine, USAGE } from '../../chaos/command-line.js';
import { FAULTS } from '../../chaos/faults/faults.js';

const KINDS = FAULTS.map(({ kind }) => kind);

const parsed = (...args: string[]) => {
  const settings = parseCommandLine(args);
  if (settings === 'help') throw new Error('asked for help');
  return settings;
};

describe('the command line of a chaos run', () => {
  it('asks for two minutes with every fault when it says nothing', () => {
    expect(parsed()).toEqual({
      minutes: 2,
      rate: 60,
      faults: KINDS,
      seed: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
  });

  it('answers a call for help', () => {
    expect(parseCommandLine(['--help'])).toBe('help');
    for (const kind of KINDS) expect(USAGE).toContain(`\n  ${kind} `);
  });

  it.each([
    [['--seed', 'abc'], 'npm run chaos -- --minutes 2 --seed abc'],
    [
      ['--seed', 'abc', '--minutes', '0.5', '--faults', 'cut', '--rate', '7'],
      'npm run chaos -- --minutes 0.5 --seed abc --faults cut --rate 7',
    ],
    [
      ['--seed', 'abc', '--faults', 'none'],
      'npm run chaos -- --minutes 2 --seed abc --faults none',
    ],
  ])('says how to do %j again', (args, command) => {
    expect(commandOf(parsed(...args))).toBe(command);
    expect(parsed(...command.split(' ').slice(4))).toEqual(parsed(...args));
  });
});
