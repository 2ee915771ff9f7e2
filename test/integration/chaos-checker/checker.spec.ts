import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { presenceSql } from '../../../src/delay-queue/store/sql/nodes/presence.sql.js';
import type { Verdict } from '../../chaos/checker/check.js';
import { clientRunner } from '../../support/other-node.js';
import { type Made, Scene } from './support/scene.js';

const HOUR_MS = 3_600_000;

/** Something wrong in a history, by the invariant that it breaks and what a person is told. */
type Broken = [invariant: number, says: RegExp, happens: (scene: Scene) => Promise<unknown>];

const token = (name: string) => ({ token: name });

const PLACE_ORDER = `INSERT INTO orders
  (id, status, total, merchant_id, confirm_after_ms, rate_after_ms, pay_deadline, paid_at, closed_at, close_reason)
  VALUES ($1, $2::text, 1, 'tea-house', 1, 1, clock_timestamp() - interval '1 second',
          CASE $2::text WHEN 'PAID' THEN clock_timestamp() END, CASE $2::text WHEN 'CLOSED' THEN clock_timestamp() END,
          CASE $2::text WHEN 'CLOSED' THEN 'not paid in time' END)`;

async function order(scene: Scene, status: string): Promise<string> {
  const id = randomUUID();
  await scene.sql(PLACE_ORDER, [id, status]);
  return id;
}

/** What the engine of n2 writes that claims it, whatever its statements look at. */
async function claimAnyhow(scene: Scene, made: Made, also = 'epoch = epoch + 1'): Promise<void> {
  const engine = await scene.session('delay-queue n2');
  const { rows } = await engine.query<{ epoch: string; attempts: number }>(
    `UPDATE delay_queue.delay SET leased_by = 'n2', leased_until = clock_timestamp() + interval '1 minute',
       attempts = attempts + 1, ${also} WHERE id = $1 RETURNING epoch, attempts`,
    [made.id],
  );
  const { epoch, attempts: attempt } = rows[0]!;
  const claimed = { ...made, node: 'n2', epoch: Number(epoch), attempt };
  await scene.effect(claimed);
  await scene.complete(claimed);
}

/** The mutants of the engine break what is not broken here (test/chaos/mutants). */
const BROKEN: Record<string, Broken> = {
  'a delay that waits for ever': [
    1,
    /"waits": it never ended: the row still waits/,
    (scene) => scene.schedule(token('waits'), { afterMs: HOUR_MS }),
  ],
  'a fenced effect twice': [
    2,
    /"twice": its transaction did it 2 times\n/,
    async (scene) =>
      scene.runFenced(await scene.schedule(token('twice'), { name: 'chaos.fenced' }), (claimed) =>
        scene.effect(claimed, true),
      ),
  ],
  'a plain one done more often than claimed': [
    2,
    /n1 did attempt 1 of it 2 times and claimed it 1 times/,
    async (scene) => {
      const claimed = await scene.claim(await scene.schedule(token('often')));
      await scene.effect(claimed);
      await scene.effect(claimed);
      await scene.complete(claimed);
    },
  ],
  'a child of a parent that was never there': [
    2,
    /"lonely": no row ever held its parent nobody/,
    async (scene) => scene.run(await scene.schedule({ token: 'lonely', parent: 'nobody' })),
  ],
  'a fenced parent without the child it had to make': [
    2,
    /"childless": it ended well, and what it had to schedule is not there/,
    async (scene) => {
      const chain = { name: 'chaos.chain' };
      const children: Made[] = [];
      await scene.runFenced(await scene.schedule({ token: 'mother', left: 1 }, chain), async () =>
        children.push(await scene.place({ token: 'child', parent: 'mother' })),
      );
      for (const child of children) await scene.run(child);
      await scene.runFenced(await scene.schedule({ token: 'childless', left: 1 }, chain));
    },
  ],
  'a claim during the pause before a retry': [
    3,
    /"pause": n2 claimed it at .*, and its wake was at/,
    async (scene) => {
      const made = await scene.schedule(token('pause'));
      await (await scene.node('n1')).claimAndFail(made.id, HOUR_MS);
      await claimAnyhow(scene, made);
    },
  ],
  'told "rescheduled", and nothing was written': [
    4,
    /told that it is due at .*, and no reschedule wrote that/,
    async (scene) => {
      const made = await scene.schedule(token('moved'), { key: 'moved' });
      const call = scene.ask('reschedule', 'moved');
      scene.log.ok(call, { verdict: 'rescheduled', id: made.id, dueMs: Date.now() + HOUR_MS });
      await scene.run(made);
    },
  ],
  'told "retried", and nothing was written': [
    4,
    /told "retried", and nothing was written/,
    async (scene) => {
      const { id } = await scene.schedule(token('dead'), { key: 'dead' });
      await (await scene.node('n1')).claimAndFail(id, null);
      scene.log.ok(scene.ask('retryDead', 'dead'), { verdict: 'retried', id, dueMs: Date.now() });
    },
  ],
  'a payment that was acknowledged and is not there': [
    5,
    /pay was acknowledged, and the order is CLOSED/,
    async (scene) => {
      const call = scene.ask('pay', await order(scene, 'CLOSED'));
      scene.log.ok(call, { verdict: 'paid', id: null, dueMs: null });
    },
  ],
  'paid, and the buyer was refused': [
    5,
    /every call was told that it was not/,
    async (scene) => {
      const call = scene.ask('pay', await order(scene, 'PAID'));
      scene.log.fail(call, new Error('the time to pay is over'));
    },
  ],
  'an order that was acknowledged and is not there': [
    5,
    /was told that order .* is placed, and there is none/,
    async (scene) => scene.log.ok(scene.ask('place', 'p'), { verdict: 'ok', id: 'o', dueMs: 1 }),
  ],
  'stock that was given back twice': [
    6,
    /stock and what open orders hold add up .* 1 of 6 broken, such as TEA-GREEN/,
    (scene) => scene.sql(`UPDATE sku SET stock = stock + 1 WHERE sku = 'TEA-GREEN'`),
  ],
  'a claim that leaves the epoch as it was': [
    7,
    /"same": a claim took the epoch from 0 to 0/,
    async (scene) => claimAnyhow(scene, await scene.schedule(token('same')), 'epoch = epoch'),
  ],
  'history of what never ended': [
    8,
    /history says "completed" at epoch 7, and nothing ended there/,
    (scene) =>
      scene.sql(`INSERT INTO delay_queue.history
        SELECT id + 1000, ended_at, due_at, created_at, lateness_ms, 7, attempts, state, name, key, node,
               error FROM delay_queue.history LIMIT 1`),
  ],
  'a row that comes back after its end': [
    8,
    /delay \d+, "back": the id came twice/,
    async (scene) => {
      const made = await scene.schedule(token('back'));
      await scene.run(made);
      await scene.sql(
        `INSERT INTO delay_queue.delay (id, name, payload, due_at, wake_at, created_at)
         OVERRIDING SYSTEM VALUE
         SELECT $1, 'chaos.plain', '{"token":"back"}', now, now, now
         FROM (SELECT clock_timestamp() AS now) clock`,
        [made.id],
      );
    },
  ],
  'a write past the trigger': [
    8,
    /"unseen": between revision 1 and this one somebody wrote unseen/,
    async (scene) => {
      const made = await scene.schedule(token('unseen'));
      await scene.sql(`ALTER TABLE delay_queue.delay DISABLE TRIGGER chaos_transition`);
      await scene.sql(
        `UPDATE delay_queue.delay SET wake_at = wake_at + interval '1 ms' WHERE id = $1`,
        [made.id],
      );
      await scene.sql(`ALTER TABLE delay_queue.delay ENABLE TRIGGER chaos_transition`);
      await scene.run(made);
    },
  ],
  'told another due time than was written': [
    9,
    /was told due at .*, and the row says/,
    async (scene) => {
      const call = scene.ask('schedule', null, 'other');
      const made = await scene.place(token('other'));
      scene.log.ok(call, { verdict: 'scheduled', id: made.id, dueMs: made.dueMs + 2 });
      await scene.run(made);
    },
  ],
  'a delay that nobody asked for': [
    9,
    /"stray": nobody asked for it/,
    async (scene) => scene.run(await scene.place(token('stray'))),
  ],
  'a cancel that was told "running"': [
    9,
    /"gone": a cancel, and every call for it was told that nothing was done/,
    async (scene) => {
      const made = await scene.schedule(token('gone'), { key: 'gone', afterMs: HOUR_MS });
      await scene.delays.cancel(clientRunner(await scene.session()), made.name, 'gone');
      scene.log.ok(scene.ask('cancel', 'gone'), { verdict: 'running', id: made.id, dueMs: null });
    },
  ],
  'a business row without its delay': [
    9,
    /"b": call c-\d+ \(unknown\): the business row is there, the delay is not/,
    async (scene) => {
      scene.log.unknown(scene.ask('schedule', null, 'b', true), new Error('terminated'));
      await scene.sql(`INSERT INTO chaos.business VALUES ('b')`);
    },
  ],
  'a node that is thought to be there': [
    10,
    /"n9": some session still holds the lock of its presence/,
    async (scene) => {
      await scene.sql(`INSERT INTO delay_queue.node VALUES ('n9', '{}', true, now(), now())`);
      await scene.sql(presenceSql(), ['n9']);
    },
  ],
};

/** A row that waits, whose life began twice, or which came back, is told by others too. */
const TOLD_TWICE = [1, 9, 10, 10];

describe('a record in which all that is wrong', () => {
  let scene: Scene;
  let verdicts: Verdict[];

  beforeAll(async () => {
    scene = await Scene.open();
    // Sound company: the queries have to tell them apart.
    await scene.run(await scene.schedule(token('sound')));
    await scene.runFenced(await scene.schedule(token('sound, fenced'), { name: 'chaos.fenced' }));
    for (const [, , happens] of Object.values(BROKEN)) await happens(scene);
    scene.ask('schedule', null, 'torn', true);
    scene.tear('{"kind":"ok","call":"c');
    verdicts = await scene.judge();
  });

  afterAll(() => scene.close());

  it.each(Object.entries(BROKEN))('%s: is told', (_, [invariant, says]) => {
    const about = verdicts.find((verdict) => verdict.invariant === invariant);
    expect(about?.examples.join('\n')).toMatch(says);
  });

  it('is told, and nothing else', () => {
    const expected = [...Object.values(BROKEN).map(([invariant]) => invariant), ...TOLD_TWICE];
    const found = verdicts.flatMap(({ invariant, violations }) =>
      Array.from({ length: violations }, () => invariant),
    );
    expect(found).toEqual(expected.toSorted((a, b) => a - b));
  });

  it('the torn last line of a process that was killed is forgiven', async () => {
    const torn = await scene.sql(`SELECT outcome FROM chaos.client WHERE token = 'torn'`);
    expect(torn).toEqual([{ outcome: 'unknown' }]);
  });
});
