import { describe, expect, it } from '@jest/globals';
import { account, shownAccounting } from '../../../bench/accounting.js';
import type { WorkerReport } from '../../../bench/processes/protocol.js';

const reportOf = (runs: number[], strays = 0): WorkerReport => ({
  type: 'report',
  runs: Uint8Array.from(runs),
  strays,
  dueMs: new Float64Array(),
  latenessMs: new Float64Array(),
  uncertaintyMs: 0,
  ownDifferenceMs: Number.NaN,
  longestPauseMs: 0,
  lastSettledAtNs: 0n,
  firstHandledAtNs: 0n,
  cpuSeconds: 0,
  longestBlockMs: Number.NaN,
  memory: { atStartBytes: 0, mostBytes: 0 },
});

describe('accounting', () => {
  it('adds the runs of all workers: none is lost, more than one is twice', () => {
    const reports = [reportOf([1, 0, 1, 0]), reportOf([0, 0, 1, 1], 2)];
    const accounting = account(reports, 4, 3);
    expect(accounting).toEqual({ expected: 4, lost: 1, twice: 1, strays: 2, leftBehind: 3 });
    expect(shownAccounting([accounting, accounting])).toBe('2 / 2, 4 strays, 6 left behind');
  });

  it('says no more than that when all is well', () => {
    expect(shownAccounting([account([reportOf([1, 1])], 2, 0)])).toBe('0 / 0');
  });
});
