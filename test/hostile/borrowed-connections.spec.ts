import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { Stage } from '../integration/engine/support/stage.js';
import { type DelayNode, fencedHandler, signal } from '../support/delay-node.js';

/** What a handler does to its connection must not become the next borrower's loss. */
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (who text NOT NULL)');
});

afterEach(() => stage.close());

const ODD: [what: string, act: (manager: EntityManager) => Promise<unknown>][] = [
  ['gives its connection back', (manager) => manager.queryRunner!.release()],
  ['leaves a savepoint open', (manager) => manager.queryRunner!.startTransaction()],
  [
    'commits and begins anew',
    (manager) => manager.query('COMMIT').then(() => manager.query('BEGIN')),
  ],
];

it.each(ODD)('a handler that %s takes nobody else into its transaction', async (_what, act) => {
  const acted = signal();
  const borrowed = signal();
  let isOdd = true;
  const odd = fencedHandler(
    'test.odd',
    async (_delay, { manager }) => {
      if (!isOdd) return;
      isOdd = false;
      await act(manager).catch(() => {});
      acted.resolve();
      await borrowed.promise;
    },
    { timeout: '60s', maxAttempts: 2, backoff: () => 1 },
  );
  const node = await stage.start({ providers: [odd], poolMax: 2 });
  const over = signal();
  node.events.on('completed', () => over.resolve());
  node.events.on('retrying', () => over.resolve());
  await node.delays.schedule('test.odd', null, { after: 0, key: 'k' });
  await acted.promise;
  // What is free in the pool now: a request of the application takes it.
  await write(node, 'meanwhile');
  borrowed.resolve();
  await over.promise;
  await write(node, 'afterwards');
  await write(node, 'at last');
  await node.stop();
  expect(await stage.sql('SELECT who FROM effect ORDER BY who')).toEqual([
    { who: 'afterwards' },
    { who: 'at last' },
    { who: 'meanwhile' },
  ]);
});

/** Answered, it is committed: another session sees it at once. */
async function write(node: DelayNode, who: string): Promise<void> {
  await node.dataSource.query('INSERT INTO effect VALUES ($1)', [who]);
  expect(await stage.sql('SELECT who FROM effect WHERE who = $1', [who])).toEqual([{ who }]);
}
