import { describe, expect, it } from '@jest/globals';
import { parseCommandLine, SCENARIOS, UsageError } from '../../../bench/command-line.js';
import { USAGE } from '../../../bench/usage.js';

const parsed = (...args: string[]) => {
  const settings = parseCommandLine(args);
  if (settings === 'help') throw new Error('asked for help');
  return settings;
};

describe('the command line of the benchmarks', () => {
  it('asks for all scenarios with the sizes of the published figures when it says nothing', () => {
    expect(parsed()).toMatchObject({
      scenarios: SCENARIOS,
      rounds: 5,
      systems: [],
      json: undefined,
      charts: [],
      count: 50_000,
      processes: [1],
      workers: ['starting'],
      backlog: 0,
      calls: 20_000,
      inFlight: 50,
      bulkSizes: [1_000, 10_000],
      overdue: 100_000,
      burstOrders: 10_000,
      pending: [0],
      idlePending: [100_000],
    });
  });

  it('gives scenarios that take different times what each is told, or its own', () => {
    expect(parsed()).toMatchObject({ seconds: 10, shopSeconds: 120 });
    expect(parsed('--seconds', '7')).toMatchObject({ seconds: 7, shopSeconds: 7 });
    expect(() => parsed('--seconds', '0')).toThrow(/--seconds takes a whole number from 1/);
  });

  it('runs scenarios in its own order, whatever the order of their names', () => {
    expect(parsed('idle', 'burst', 'enqueue').scenarios).toEqual(['enqueue', 'burst', 'idle']);
  });

  it('takes lists', () => {
    const args = ['--processes', '1,2,4', '--idle-pending', '0,1000000', '--systems', 'ours,table'];
    expect(parsed(...args)).toMatchObject({
      processes: [1, 2, 4],
      idlePending: [0, 1_000_000],
      systems: ['ours', 'table'],
    });
    expect(parsed('--charts', 'a.json,b.json').charts).toEqual(['a.json', 'b.json']);
  });

  it('answers a call for help, which names every scenario and every option', () => {
    expect(parseCommandLine(['drain', '--help'])).toBe('help');
    for (const scenario of SCENARIOS) expect(USAGE).toContain(scenario);
    for (const option of [
      'workers',
      'backlog',
      'in-flight',
      'bulk',
      'overdue',
      'burst-batch',
      'orders-per-second',
      'connections',
      'charts-into',
    ]) {
      expect(USAGE).toContain(`--${option} `);
    }
  });

  it.each([
    [['drian'], /There is no scenario 'drian'; there are wheel, enqueue,/],
    [['--rounds', '0'], /--rounds takes a whole number from 1, not '0'/],
    [['--count', '1e99'], /--count takes a whole number from 1, not '1e99'/],
    [['--calls', ' '], /--calls takes a whole number/],
    [['--processes', '1,,2'], /--processes takes a whole number from 1, not ''/],
    [['--churn', 'vacum'], /--churn takes some of fillfactor, vacuum, not 'vacum'/],
    [['--roundz', '3'], /'--roundz'/],
  ])('refuses %j and says why', (args, why) => {
    expect(() => parseCommandLine(args)).toThrow(UsageError);
    expect(() => parseCommandLine(args)).toThrow(why);
  });
});
