import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { BatchStore } from '../../../src/delay-queue/store/batch.store.js';
import { DelayStore } from '../../../src/delay-queue/store/delay.store.js';
import { LimitStore } from '../../../src/delay-queue/store/limits/limit.store.js';
import { PauseStore } from '../../../src/delay-queue/store/limits/pause.store.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { MUTANTS } from '../../chaos/mutants/mutants.js';
import { STATEMENTS } from '../../chaos/mutants/statements.js';
import { Surgery } from '../../chaos/mutants/surgery.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

describe('mutants of the engine', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(Object.entries(MUTANTS))('%s still fits the code', async (_, mutant) => {
    const surgery = new Surgery();
    // Throws when a statement or a method is no longer what it operates on.
    mutant.apply(surgery);
    for (const [original, text] of surgery.texts) {
      expect(text).not.toBe(original);
      await client.query(`PREPARE mutant AS ${text}`);
      await client.query('DEALLOCATE mutant');
    }
  });

  it('knows every statement that the stores send and a mutant may rewrite', async () => {
    const sent = new Set<string>();
    const query = (sql: string): Promise<never[]> => {
      sent.add(sql);
      return Promise.resolve([]);
    };
    const alone = { query };
    const inTransaction = { query, transaction: 'callers' as const };
    // Nobody answers for so long.
    const clients = new DelayStore('delay_queue', 'attempts', 'n1', 1);
    const together = new BatchStore('delay_queue', 'attempts');
    const engine = new AttemptStore(alone, 'delay_queue', 'attempts', 'n1');
    const node = new NodeStore(alone, 'delay_queue', 'n1');
    const limited = new LimitStore(
      { inTransaction: (work) => work(alone) },
      'delay_queue',
      'attempts',
      'n1',
    );
    const pauses = new PauseStore('delay_queue');
    const to = { kind: 'after' as const, ms: 1 };
    const bare = { group: null, headers: null, maxAttempts: null };
    const placement = { name: 'a', key: 'k', payload: '{}', to, ...bare };
    const grouped = { ...placement, group: 'g', onConflict: 'replace' as const };
    const how = { every: 1_000, catchUp: 'each' as const };
    const recurring = { ...grouped, repeat: { how, hasFirst: false } };
    const own = { id: 1, epoch: 1, latenessMs: 0 };
    const moved = { verdict: 'scheduled', payload: null, maxAttempts: null, extras: null };
    const limits = { horizonMs: 1, limit: 1, peersWithinMs: 1, isPresent: true, instance: 'i' };
    const sweeping = { scan: 1, limit: 1, helpAfterMs: null, aheadMs: 1 };
    const shares = { names: [], counts: [], ranks: [], byGroup: [], leftOut: [] };
    const partly = { ...shares, byGroup: [], leftOut: ['a g'] };
    const claim = { ...own, leaseMs: 1, maxAttempts: 1 };
    const settled = {
      ...own,
      waitMs: 1,
      movesDue: false,
      refund: 0 as const,
      ends: 'failed' as const,
      error: null,
    };
    const calls = [alone, inTransaction].flatMap<Promise<unknown>>((runner) => [
      clients.place(runner, [{ ...placement, onConflict: 'replace' }]),
      clients.place(runner, [
        { ...placement, onConflict: 'replace' },
        { ...placement, key: 'l', onConflict: 'replace' },
      ]),
      clients.place(runner, [grouped]),
      clients.place(runner, [grouped, { ...grouped, key: 'l' }]),
      clients.place(runner, [recurring]),
      clients.place(runner, [recurring, { ...recurring, key: 'l' }]),
      clients.cancel(runner, 'a', 'k'),
      clients.reschedule(runner, 'a', 'k', to),
      clients.moveOn(runner, own, to, moved, 'waits'),
      clients.moveOn(runner, own, to, moved, 'a while'),
      clients.moveOn(runner, own, to, moved, 'at once'),
    ]);
    // Nothing answers, and most of them say so.
    await Promise.allSettled([
      ...calls,
      clients.placeAll(alone, [{ ...placement, onConflict: 'replace' }]),
      clients.placeAll(alone, [grouped]),
      clients.placeAll(alone, [recurring]),
      together.placeKeyless(alone, [{ ...grouped, key: null }], () => {}),
      together.place(alone, [grouped], () => {}),
      together.placeKeyless(alone, [{ ...recurring, key: null }], () => {}),
      together.place(alone, [recurring], () => {}),
      together.placeKeyless(alone, [{ ...placement, key: null, onConflict: 'replace' }], () => {}),
      together.place(alone, [{ ...placement, onConflict: 'replace' }], () => {}),
      together.cancel(alone, [{ name: 'a', key: 'k' }], () => {}),
      together.reschedule(alone, [{ name: 'a', key: 'k', to }], () => {}),
      engine.claim([claim]),
      limited.claim([claim], []),
      pauses.pause(alone, { name: 'a', group: null }, null, null),
      pauses.resume(alone, { name: 'a', group: null }),
      pauses.list(alone),
      engine.deadLetter([claim], 'x'),
      engine.complete([own]),
      engine.retry([settled]),
      engine.renew([own], 1),
      engine.recur([{ ...own, dueMs: 1, nextMs: 2, state: null, error: null, maxAttempts: null }]),
      engine.complete([own], alone),
      engine.fence(alone, [own], 1),
      engine.fence(alone, [own, own], 1),
      node.load(shares, { wakeMs: 0, id: 0 }, limits),
      node.sweep(shares, null, sweeping),
      node.load(partly, { wakeMs: 0, id: 0 }, limits),
      node.sweep(partly, null, sweeping),
    ]);
    expect([...sent].toSorted()).toEqual(Object.values(STATEMENTS).flat().toSorted());
  });
});
