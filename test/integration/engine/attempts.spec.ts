import { describe, expect, it } from '@jest/globals';
import { plainHandler, type Signal, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { AttemptStore, NodeStore } from '../../support/engine-parts.js';

let gate: Signal<void> | undefined;
const stage = stageOfEach({ release: () => gate?.resolve() });

it('a row whose process died runs again, and that counts; without attempts left a claim buries it unrun', async () => {
  // As a process leaves it that was killed in its `attempts`-th attempt.
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, attempts,
                                    epoch, max_attempts, leased_by, leased_until)
     SELECT 'test.' || key, key, 'null', at, at, at, attempts, attempts, max_attempts, 'killed',
            at + interval '1 second'
     FROM date_trunc('seconds', clock_timestamp() - interval '1 minute') AS at,
          (VALUES ('three', 3, NULL), ('ten', 3, 3), ('left', 2, 3)) AS t (key, attempts, max_attempts)`,
  );
  const ran: unknown[] = [];
  const handlerOf = (name: `test.${string}`, maxAttempts: number) =>
    plainHandler(name, ({ key, attempt }) => void ran.push(`${key}/${attempt}`), { maxAttempts });
  const { delays } = await stage.start({
    providers: [handlerOf('test.three', 3), handlerOf('test.ten', 10), handlerOf('test.left', 10)],
  });
  await stage.until<{ wake: string }>(
    'SELECT wake_at::text AS wake FROM delay_queue.delay',
    (rows) => rows.every(({ wake }) => wake === 'infinity'),
  );
  for (const key of ['three', 'ten']) {
    const found = await delays.find(`test.${key}`, key);
    expect(found).toMatchObject({ state: 'dead', attempts: 3, wakeAt: null });
    expect(found?.lastError).toContain('attempts exhausted');
  }
  expect(ran).toEqual(['left/3']);
  expect(await delays.history('test.left', 'left')).toMatchObject([
    { state: 'completed', attempts: 3 },
  ]);
});

describe('a claim looks at the row again, whatever the wheel believes', () => {
  it('and takes nothing before its time', async () => {
    const claim = stage.parts.intercept(AttemptStore, 'claim');
    let runs = 0;
    const node = await stage.start({ providers: [plainHandler('test.plain', () => void runs++)] });
    await node.delays.schedule('test.plain', null, { after: '1s', key: 'k' });
    // Behind the back of every node: nothing tells the wheel.
    await stage.sql(`UPDATE delay_queue.delay SET wake_at = wake_at + interval '1 hour'`);
    await until(
      () => claim.answers.length,
      (claims) => claims > 0,
    );
    expect(await claim.answers[0]).toEqual([]);
    expect(runs).toBe(0);
  });

  it('and takes nothing that moved on, but finds it where it is now', async () => {
    const claim = stage.parts.intercept(AttemptStore, 'claim');
    const node = await stage.start({ providers: [plainHandler('test.plain', () => {})] });
    const completed = node.next('completed');
    const { id } = await node.delays.schedule('test.plain', null, { after: '1s', key: 'k' });
    await stage.sql('UPDATE delay_queue.delay SET epoch = 7');
    await completed;
    // A load that comes in between teaches the wheel the new epoch; with the old one nothing is got.
    const stale = claim.calls.flatMap(([requests], call) =>
      requests.some((request) => request.id === Number(id) && request.epoch === 0)
        ? [claim.answers[call]!]
        : [],
    );
    expect((await Promise.all(stale)).flat()).toEqual([]);
    expect(await stage.sql(`SELECT epoch::int FROM delay_queue.history WHERE key = 'k'`)).toEqual([
      { epoch: 8 },
    ]);
  });
});

it('a page that was read before a claim, and is heard of after it, leads to no second one', async () => {
  const [read, begun, heard, offered] = [signal(), signal(), signal(), signal()];
  const { promise: end } = (gate = signal());
  const claimed = stage.parts.intercept(AttemptStore, 'claim', async ({ real }) => {
    await read.promise;
    return real();
  });
  let page: unknown;
  stage.parts.intercept(
    NodeStore,
    'sweep',
    async ({ real }) => {
      const swept = await real();
      page = swept;
      read.resolve();
      await heard.promise;
      setImmediate(offered.resolve);
      return swept;
    },
    1,
  );
  // Due, and late enough for the load to bring it too.
  await stage.overdue('test.read', 1, { secondsAgo: 0 });
  const node = await stage.start({
    providers: [
      plainHandler('test.read', () => {
        begun.resolve();
        return end;
      }),
      plainHandler('test.next', () => {}),
    ],
  });
  await begun.promise;
  heard.resolve();
  await offered.promise;
  const completed = node.next('completed');
  await node.delays.schedule('test.next', null, { after: 0 });
  await completed;
  expect(page).toMatchObject({ wakes: [{ id: 1, epoch: 0 }] });
  const asked = claimed.calls.flatMap(([requests]) => requests.map(({ id }) => id));
  expect(asked.filter((id) => id === 1)).toEqual([1]);
});
