import { expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { DatabaseClock } from '../../support/engine-parts.js';

const NAME = 'test.ticking';

const REPEATS: Repeats[] = [
  { every: '1s', catchUp: 'each', key: 'each' },
  { every: '1s', catchUp: 'latest', key: 'latest' },
  { every: '1s', catchUp: 'none', key: 'none' },
  { cron: '* * * * * *', timeZone: 'UTC', catchUp: 'latest', key: 'cron' },
];
const HOURLY: Repeats = { every: '1h', key: 'hourly' };

const stage = stageOfEach();

/** Every reading that the estimate is made of errs by so much. */
function err(...byMs: number[]): void {
  let times = 0;
  stage.parts.intercept(DatabaseClock, 'sample', ({ real, given: [asked, heard, read, later] }) => {
    const offMs = byMs[times++ % byMs.length]!;
    real(asked, heard, read + offMs, (later ?? read) + offMs);
  });
}

it.each([[[1_500]], [[-1_500]], [[500, -500]], [[0]]])(
  'an estimate that errs by %j ms begins nothing early, and makes no instant',
  async (byMs) => {
    err(...byMs);
    const runs: { key: string; dueMs: number; beganMs: number }[] = [];
    const handler = plainHandler(NAME, async ({ key, dueAt }) => {
      const began = stage.sql<{ ms: string }>(
        'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS ms',
      );
      runs.push({ key: key!, dueMs: dueAt.getTime(), beganMs: Number((await began)[0]?.ms) });
    });
    const node = await stage.start({ providers: [repeated(handler, NAME, HOURLY, ...REPEATS)] });
    const [first] = await stage.sql<{ ms: string }>(
      `SELECT (extract(epoch FROM due_at - created_at) * 1000)::text AS ms
       FROM delay_queue.delay WHERE key = 'hourly'`,
    );
    // The clock was read before the row was written, and not for long.
    expect(Number(first?.ms)).toBeLessThanOrEqual(3_600_000);
    expect(Number(first?.ms)).toBeGreaterThan(3_600_000 - 1_000);

    const left = new Map(REPEATS.map(({ key }) => [key!, 3]));
    await node.next('completed', ({ key }) => {
      left.set(key!, (left.get(key!) ?? 0) - 1);
      return [...left.values()].every((count) => count <= 0);
    });
    expect(runs.filter(({ dueMs, beganMs }) => beganMs < dueMs)).toEqual([]);
    // Each stands for an instant of its own, and what catches up leaves none out.
    for (const { key } of REPEATS) {
      const due = runs.filter((run) => run.key === key).map(({ dueMs }) => dueMs);
      expect(new Set(due).size).toBe(due.length);
    }
  },
);
