import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Claimer } from '../../../src/delay-queue/core/worker/claimer.js';
import type { ClaimSizes } from '../../../src/delay-queue/core/worker/claim-sizes.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import type { ClaimedRow } from '../../../src/delay-queue/core/store/rows/answers.js';
import type { ClaimRequest } from '../../../src/delay-queue/core/store/rows/attempt-rows.js';
import { groupText } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { TaskHealth } from '../../../src/delay-queue/core/tasks/task-health.js';

const LEASE_MS = 60_000;
/** On the database's clock. */
const NOW_MS = 1_760_000_000_000;

let asked: ClaimRequest[][];
let answer: () => ClaimedRow[];
let events: string[];
let again: Map<number, number[]>;
let given: [id: number, epoch: number][];
/** To be called when what was given back is. */
let backs: (() => void)[];
let skipped: number[];
let reported: string[];
let setAsideCount: number;
let estimateMs: number;
let jobs: Jobs;
let names: NameStates;
let sizes: ClaimSizes;
let claimer: Claimer;
/** What a claim under limits was asked, and says of them. */
let rules: unknown[][];
let left: { name: string; group: string; slots: number; waitMs: number }[];
let blocks: string[];
/** Those that were looked at because they may be unreadable. */
let looked: number[][];
let other: TaskHealth;
let heard: DelayEvents;

const LIMITS = { all: { concurrency: 1 }, perGroup: {} };
const handler = (name: string) => ({
  name,
  leaseMs: LEASE_MS,
  maxAttempts: 3,
  limits: name.startsWith('limited') ? LIMITS : null,
});

beforeEach(() => {
  [asked, events, again, given, backs] = [[], [], new Map(), [], []];
  [skipped, reported, setAsideCount, estimateMs] = [[], [], 0, NOW_MS];
  answer = () => asked.at(-1)!.map(({ id, epoch }) => row(id, { epoch: epoch + 1 }));
  [rules, left, blocks, looked] = [[], [], [], []];
  const told = new DelayEvents();
  other = new TaskHealth(told, 'load');
  heard = told;
  told.on('taskFailed', ({ task, error }) => events.push(`${task}: ${(error as Error).message}`));
  told.on('taskRecovered', ({ task }) => events.push(`${task} again`));
  jobs = new Jobs();
  names = nameStates();
  claimer = new Claimer({
    store: {
      claim: async (requests: ClaimRequest[]) => {
        asked.push(requests);
        return answer();
      },
    } as never,
    limitStore: {
      claim: async (requests: ClaimRequest[], of: unknown[]) => {
        asked.push(requests);
        rules.push(of);
        return { rows: answer(), left };
      },
    } as never,
    throttles: {
      ask: () => blocks.push('ask'),
      learn: (of: typeof left) => blocks.push(`learn ${of.length}`),
      answered: () => blocks.push('answered'),
    } as never,
    registry: { get: (name: string) => (name === 'gone' ? undefined : handler(name)) } as never,
    clock: {
      sample: () => {},
      nowMs: () => estimateMs,
      afterReading: (readMs: number) => ({ readMs, leastMs: () => readMs }),
    } as never,
    queue: {
      again: ({ id }: Job, inMs: number) => again.set(id, [...(again.get(id) ?? []), inMs]),
    } as never,
    completer: {
      giveBack: (id: number, epoch: number, onGivenBack = () => {}) => {
        given.push([id, epoch]);
        backs.push(onGivenBack);
      },
      setAside: ({ id }: ClaimedRow, error: string) => reported.push(`set aside ${id}: ${error}`),
      deadLetters: {
        setAside: async (ids: number[]) => {
          looked.push(ids);
          return setAsideCount;
        },
      },
      report: ({ id }: { id: number }, { kind }: { kind: string }) =>
        reported.push(`${kind} ${id}`),
      skip: ({ id }: { id: number }) => skipped.push(id),
    } as never,
    jobs,
    names,
    claimBatch: 500,
    events: told,
  });
  sizes = claimer.sizes;
  jest.spyOn(Math, 'random').mockReturnValue(0);
});

const entry = (id: number, name = 'a'): Job =>
  ({ id, epoch: 1, name, group: null, state: 'ready', timesNotClaimed: 0 }) as unknown as Job;

const row = (id: number, odd: Partial<ClaimedRow> = {}): ClaimedRow => ({
  id,
  epoch: 2,
  name: 'a',
  key: null,
  extras: null,
  payload: 'null',
  due_ms: NOW_MS - 1_000,
  created_ms: NOW_MS - 2_000,
  attempts: 1,
  max_attempts: 3,
  now_ms: NOW_MS,
  ...odd,
});

const failing = (code: string | undefined) => (): never => {
  throw Object.assign(new Error('no'), code === undefined ? {} : { code });
};

const claim = (...entries: Job[]) => claimer.claim(entries);

describe('a claim', () => {
  it('asks for each with its lease, and what was lost before is known by its answer', async () => {
    jobs.lose(1, 2);
    const entries = [entry(1), entry(2)];
    const claimed = await claim(...entries);
    expect(asked[0]).toMatchObject([
      { id: 1, epoch: 1, leaseMs: LEASE_MS, maxAttempts: 3 },
      { id: 2, epoch: 1 },
    ]);
    expect('rows' in claimed && [...claimed.rows.keys()]).toEqual([1, 2]);
    expect(jobs.isLost(1, 2)).toBe(false);
  });

  it('whose outcome is unknown is given back, and looked at only then', async () => {
    answer = failing(undefined);
    expect(await claim(entry(1), entry(2))).toEqual({ pauseMs: 100 });
    expect([given, jobs.isLost(1, 2), jobs.isLost(2, 2), [...again]]).toEqual([
      [
        [1, 2],
        [2, 2],
      ],
      true,
      true,
      [],
    ]);
    for (const back of backs) back();
    // What gives them back works again: for the pause, all claims wait.
    expect([...again]).toEqual([
      [1, [0]],
      [2, [0]],
    ]);
  });

  it('that fails is followed by pauses that grow, and by a short one after one that works', async () => {
    answer = failing(undefined);
    const pauses: unknown[] = [];
    for (let times = 0; times < 3; times += 1) pauses.push(await claim(entry(1), entry(2)));
    expect(pauses).toEqual([{ pauseMs: 100 }, { pauseMs: 200 }, { pauseMs: 400 }]);
    // A claim that hangs at its COMMIT holds its rows, and is why this one finds none.
    answer = () => [];
    await claim(entry(1), entry(2));
    expect(events.at(-1)).toBe('claim: no');
    answer = () => [row(1, { epoch: 2 })];
    await claim(entry(1), entry(2));
    expect(events.at(-1)).toBe('claim again');
    answer = failing('25006');
    await claim(entry(1), entry(2));
    answer = () => [];
    await claim(entry(1), entry(2));
    expect(events.at(-1)).toBe('claim again');
    answer = failing(undefined);
    expect(await claim(entry(1), entry(2))).toEqual({ pauseMs: 100 });
  });

  it('that is refused is made smaller at once, down to one, which rests while its neighbours run', async () => {
    answer = failing('22003');
    await claim(...Array.from({ length: 4 }, (_, id) => entry(id + 1)));
    expect(names.of('a').claimSize?.now).toBe(2);
    expect(given).toEqual([]);
    const only = entry(9);
    await claim(only);
    await claim(only);
    expect(again.get(9)).toEqual([1_000, 2_000]);
    expect(events.at(-1)).toMatch(/^claim: a #9 cannot be claimed/);
  });

  it('of rows of which one was set aside is asked for again as large as it was', async () => {
    setAsideCount = 1;
    answer = failing('22003');
    await claim(entry(1), entry(2));
    expect(names.of('a').claimSize).toBeUndefined();
  });
});

const attemptOf = (of: ClaimedRow, agoMs = 0) => claimer.attempt(of, performance.now() - agoMs);

describe('a claim of names with limits', () => {
  it('says their rules, and what has no place left', async () => {
    left = [
      { name: 'limited', group: 'g', slots: 0, waitMs: 0 },
      { name: 'limited', group: 'h', slots: 1, waitMs: 0 },
    ];
    const claimed = await claim(entry(1, 'limited'), entry(2, 'limited'), entry(3, 'limited2'));
    expect(rules).toEqual([
      [
        { name: 'limited', ...LIMITS },
        { name: 'limited2', ...LIMITS },
      ],
    ]);
    expect(blocks).toEqual(['ask', 'learn 2', 'answered']);
    expect(claimed).toMatchObject({ full: new Set([groupText('limited', 'g')]) });
    expect('rows' in claimed && claimed.rows.size).toBe(3);
  });

  it('lets the next one go also when it fails', async () => {
    answer = failing('25006');
    await claim(entry(1, 'limited'));
    expect(blocks).toEqual(['ask', 'answered']);
  });

  it('is none where the names have none', async () => {
    await claim(entry(1));
    expect([rules, blocks]).toEqual([[], []]);
  });
});

/** Another task works again. */
const works = (): void => {
  other.failed(new Error('down'));
  other.worked();
};

describe('after a claim that failed', () => {
  it('another task that works again wakes it, once, and not when one worked since', async () => {
    let woken = 0;
    const wake = (): void => void (woken += 1);
    answer = failing('25006');
    await claim(entry(1), entry(2));
    for (let each = 0; each < 2; each += 1) claimer.whenAnotherWorks(wake);
    works();
    works();
    expect(woken).toBe(1);
    claimer.whenAnotherWorks(wake);
    answer = () => [row(1)];
    await claim(entry(1), entry(2));
    works();
    expect(woken).toBe(1);
    claimer.whenAnotherWorks(wake);
    claimer.stop();
    works();
    expect(woken).toBe(1);
  });

  it('as large as that none of its name goes beside it, and the next when it has ended', async () => {
    answer = failing('22003');
    await claim(...Array.from({ length: 8 }, (_, id) => entry(id + 1)));
    expect([names.of('a').claimSize?.now, sizes.mayClaimApart]).toEqual([4, true]);
    answer = () => {
      expect(sizes.mayClaimApart).toBe(false);
      return [row(1)];
    };
    await claim(entry(1));
    expect(sizes.mayClaimApart).toBe(true);
  });

  it('of refused rows, those are looked at that may be unreadable, and no pause is long', async () => {
    answer = failing('22003');
    for (let times = 1; times <= 12; times += 1) {
      expect(await claim(entry(1), entry(2))).toEqual({ pauseMs: expect.any(Number) });
    }
    const { pauseMs } = (await claim(entry(1), entry(2))) as { pauseMs: number };
    expect([pauseMs, looked[0]]).toEqual([100, [1, 2]]);
    answer = failing('25006');
    const long = (await claim(entry(1), entry(2))) as { pauseMs: number };
    expect([long.pauseMs > 1_000, looked.length]).toEqual([true, 13]);
  });

  it('with no word of Postgres, the next one asks for less, unless nothing was sent', async () => {
    answer = () => {
      throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
    };
    await claim(entry(1), entry(2));
    expect(names.of('a').claimSize).toBeUndefined();
    answer = failing(undefined);
    await claim(...Array.from({ length: 4 }, (_, id) => entry(id + 1)));
    expect(names.of('a').claimSize?.now).toBe(2);
  });

  it('of one alone without an answer, it works again with the next one, and of a refused one it does not', async () => {
    answer = failing(undefined);
    await claim(entry(1));
    answer = () => [row(2)];
    await claim(entry(2));
    expect(events).toEqual([
      expect.stringMatching(/^claim: a #1 cannot be claimed/),
      'claim again',
    ]);
    answer = failing('22003');
    await claim(entry(1));
    answer = () => [row(2)];
    await claim(entry(2));
    expect(events.at(-1)).toMatch(/^claim: a #1 cannot be claimed/);
  });

  it('of one alone its event has what Postgres said', async () => {
    const codes: unknown[] = [];
    heard.on('taskFailed', ({ error }) => codes.push((error as { code?: string }).code));
    answer = failing('22003');
    await claim(entry(1));
    answer = failing(undefined);
    await claim(entry(1));
    expect(codes).toEqual(['22003', undefined]);
  });
});

describe('what was claimed', () => {
  it('is an attempt, whose lease counts from when it was asked for', () => {
    const askedAtMs = performance.now();
    const attempt = claimer.attempt(row(1), askedAtMs);
    expect(attempt).toMatchObject({ id: 1, epoch: 2, latenessMs: 1_000 });
    expect(attempt?.leaseEndsAtMs).toBe(askedAtMs + LEASE_MS);
  });

  it.each([
    [-5_000, 1_000],
    [0, 1_000],
    [5_000, 1_500],
  ])('is as late as the claim allows, where the estimate is off by %d ms', (offMs, latestMs) => {
    jest.spyOn(performance, 'now').mockReturnValue(10_000);
    estimateMs = NOW_MS + offMs;
    expect(claimer.attempt(row(1), 9_500)?.latenessMs).toBe(latestMs);
    jest.restoreAllMocks();
  });

  it('is given back when its lease is over, when its name has no handler, and when the node ends', () => {
    expect(attemptOf(row(1), LEASE_MS)).toBeUndefined();
    expect(attemptOf(row(2, { name: 'gone' }))).toBeUndefined();
    claimer.stop();
    expect(attemptOf(row(3))).toBeUndefined();
    expect(given.map(([id]) => id)).toEqual([1, 2, 3]);
  });

  it('and cannot be read is set aside', () => {
    expect(attemptOf(row(1, { attempts: 2, due_ms: Number.NaN }))).toBeUndefined();
    expect(reported).toEqual([expect.stringContaining('set aside 1')]);
  });

  it('and recurs stands for its instant; missed is only a first attempt that comes too late', () => {
    const repeat = { every: 3_600_000, from: NOW_MS - 120_000, catchUp: 'none' };
    const extras = JSON.stringify({ group: null, headers: null, repeat });
    const late = { extras, due_ms: NOW_MS - 120_000 };
    expect(attemptOf(row(1, late))).toBeUndefined();
    expect(skipped).toEqual([1]);
    expect(attemptOf(row(2, { ...late, attempts: 2 }))).toMatchObject({ latenessMs: 120_000 });
    const unknown = JSON.stringify({ group: null, headers: null, repeat: { catchUp: 'never' } });
    expect(attemptOf(row(3, { extras: unknown }))).toBeUndefined();
    expect([skipped, reported]).toEqual([[1], ['unreadable 3']]);
  });
});
