import { describe, expect, it } from '@jest/globals';
import { parseCommandLine, RaceUsageError, USAGE } from '../../../../src/demo/race/command-line.js';

const parsed = (...args: string[]) => {
  const options = parseCommandLine(args);
  if (options === 'help') throw new Error('asked for help');
  return options;
};

describe('the command line of the race', () => {
  it('asks for 500 orders and three processes of the shop when it says nothing', () => {
    expect(parsed()).toEqual({
      closer: 'delay-queue',
      orders: 500,
      processes: 3,
      seed: expect.any(Number),
    });
  });

  it('takes a seed that it has made up itself', () => {
    for (let time = 0; time < 100; time += 1) {
      const { seed } = parsed();
      expect(parsed('--seed', String(seed)).seed).toBe(seed);
    }
  });

  it.each([
    ['--naive', 'naive'],
    ['--cron', 'cron'],
  ])('%s races with something else', (option, closer) => {
    expect(parsed(option, '--orders', '40', '--processes', '2', '--seed', '0')).toEqual({
      closer,
      orders: 40,
      processes: 2,
      seed: 0,
    });
  });

  it.each([
    [['--orders', '9'], "--orders takes a whole number from 10 to 5000, not '9'"],
    [['--orders', 'many'], "--orders takes a whole number from 10 to 5000, not 'many'"],
    [['--orders=1e3'], "--orders takes a whole number from 10 to 5000, not '1e3'"],
    [['--processes', '1'], "--processes takes a whole number from 2 to 8, not '1'"],
    [['--processes', '2.5'], "--processes takes a whole number from 2 to 8, not '2.5'"],
    [['--seed='], "--seed takes a whole number from 0 to 999999, not ''"],
    [['--seed=-1'], "--seed takes a whole number from 0 to 999999, not '-1'"],
    [['--naive', '--cron'], '--naive and --cron are two races: start one of them'],
  ])('refuses %j', (args, message) => {
    expect(() => parseCommandLine(args)).toThrow(new RaceUsageError(message));
  });

  it.each([[['--order', '40']], [['40']], [['--orders']]])('refuses %j', (args) => {
    expect(() => parseCommandLine(args)).toThrow(RaceUsageError);
  });

  it('explains every option', () => {
    expect(parseCommandLine(['--help', '--orders', 'many'])).toBe('help');
    for (const option of ['naive', 'cron', 'orders', 'processes', 'seed', 'help']) {
      expect(USAGE).toContain(`--${option} `);
    }
  });
});
