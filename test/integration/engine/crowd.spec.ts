import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { plainHandler, type Signal, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { HastyClient } from './support/hasty-client.js';
import { stageOfEach } from './support/stage-of-each.js';

/** What a node keeps ready of one name, and as many attempts may wait to be written down. */
const KEPT = 10_000;
/** At most 10,000 are scheduled by one call. */
const CALLS = 2;
/** No load comes to the rescue either. */
const options = { horizon: '1h', loadEvery: '59m' } as const;

let gate: Signal<void> | undefined;
const stage = stageOfEach({ rareSweeps: true, release: () => gate?.resolve() });

it('more delays than find room fall due at the same moment, and all run as soon as there is some', async () => {
  const opened = (gate = signal());
  const allDue = signal();
  const concurrency = 500;
  const rows = KEPT + concurrency + 500;
  const seen = new Set<string>();
  const node = await stage.start({
    providers: [
      plainHandler('test.crowd', () => opened.promise, { concurrency }),
      plainHandler('test.last', () => allDue.resolve()),
    ],
    options,
  });
  node.events.on('completed', ({ id, name }) => name === 'test.crowd' && seen.add(id));
  const item = { name: 'test.crowd', payload: null, after: 0 } as const;
  const items = Array.from({ length: rows / CALLS }, () => item);
  for (let call = 0; call < CALLS; call += 1) await node.delays.scheduleMany(items);
  // Due after them: when it runs, all others are due and wait for those whose handlers do not end.
  await node.delays.schedule('test.last', null, { after: '1ms' });
  await allDue.promise;
  opened.resolve();
  const ran = until(
    () => seen.size,
    (size) => size === rows,
  );
  await expect(ran).resolves.toBe(rows);
});

it('a backlog goes on when acknowledgements that were held up get through', async () => {
  // Two claims that are on their way are beyond it.
  const rows = KEPT + 2_000;
  await stage.overdue('test.backlog', rows);
  const client = new Client({ connectionString: stage.url });
  await client.connect();
  try {
    // Whoever writes history waits, and so does every acknowledgement.
    await client.query('BEGIN; LOCK TABLE delay_queue.history IN SHARE MODE');
    let runs = 0;
    const run = (): void => void (runs += 1);
    await stage.start({
      database: { url: stage.url, extra: { Client: HastyClient } },
      providers: [plainHandler('test.backlog', run, { concurrency: KEPT })],
      options,
    });
    await until(
      () => runs,
      (count) => count >= KEPT,
    );
    await client.query('COMMIT');
    await stage.noneLeft();
    expect(runs).toBe(rows);
  } finally {
    await client.end();
  }
});
