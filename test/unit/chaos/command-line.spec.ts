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

  it('makes up another seed each time', () => {
    expect(parsed().seed).not.toBe(parsed().seed);
  });

  it('takes fractions, a seed, some kinds of faults and a rate', () => {
    const args = ['--minutes', '0.5', '--seed', 'abc', '--faults', 'pause,kill', '--rate', '10'];
    expect(parsed(...args)).toEqual({
      minutes: 0.5,
      seed: 'abc',
      faults: ['kill', 'pause'],
      rate: 10,
    });
  });

  it('takes load alone', () => {
    expect(parsed('--faults', 'none').faults).toEqual([]);
  });

  it('answers a call for help', () => {
    expect(parseCommandLine(['--help'])).toBe('help');
    for (const kind of KINDS) expect(USAGE).toContain(`\n  ${kind} `);
  });

  it.each([
    [['--faults', 'kil'], /There is no fault 'kil'; there are kill, pause,/],
    [['--faults', 'kill,none'], /There is no fault 'none'/],
    [['--faults', ''], /--faults takes kinds of faults, or 'none'/],
    [['--minutes', '0'], /--minutes takes a number from 0.05 to 1440, not '0'/],
    [['--minutes', 'NaN'], /--minutes takes a number .* not 'NaN'/],
    [['--minutes', ' '], /--minutes takes a number/],
    [['--rate', '-5'], /--rate/],
    [['--rate=-5'], /--rate takes a number from 1 to 10000, not '-5'/],
    [['--seed', 'a b'], /--seed takes 1 to 64 letters, digits, dots, colons or dashes, not 'a b'/],
    [['--seeds', 'a'], /'--seeds'/],
    [['ten'], /'ten'/],
  ])('refuses %j and says why', (args, why) => {
    expect(() => parseCommandLine(args)).toThrow(why);
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
