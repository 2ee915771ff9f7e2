import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { clientRunner } from '../../support/other-node.js';
import { Scene } from './support/scene.js';

let scene: Scene;

beforeEach(async () => {
  scene = await Scene.open();
});

afterEach(() => scene.close());

/** Cancelled, replaced, rescheduled, retried from the dead. */
async function tellAllVerbs(): Promise<void> {
  const app = clientRunner(await scene.session(''));
  const ask = (verb: 'cancel' | 'reschedule' | 'retryDead', key: string): string =>
    scene.log.invoke({ verb, name: 'chaos.plain', key, token: null, inTransaction: false });

  await scene.schedule({ key: 'a', afterMs: 60_000 });
  await scene.schedule({ key: 'a', afterMs: 60_000 });
  let call = ask('cancel', 'a');
  const gone = await scene.clients().cancel(app, 'chaos.plain', 'a');
  scene.log.ok(call, { verdict: gone.verdict, id: String(gone.id), dueMs: gone.dueMs });

  const moved = await scene.schedule({ key: 'b', afterMs: 60_000 });
  call = ask('reschedule', 'b');
  const to = { kind: 'after' as const, ms: 5 };
  const now = await scene.clients().reschedule(app, 'chaos.plain', 'b', to);
  scene.log.ok(call, { verdict: now.verdict, id: String(now.id), dueMs: now.dueMs });
  const dead = await scene.settle(await scene.claim({ ...moved, epoch: 1 }, 'n1'), null);
  call = ask('retryDead', 'b');
  const again = await scene.clients().retryDead(app, 'chaos.plain', 'b');
  if (again === undefined) throw new Error('no dead letter');
  scene.log.ok(call, { verdict: again.verdict, id: String(again.id), dueMs: again.dueMs });
  await scene.run({ ...dead, epoch: dead.epoch + 1 });
  // One that stays, for the tenth to look at.
  await scene.settle(await scene.claim(await scene.schedule({}), 'n1'), null);
}

// What else a clean run may hold (late results, renewals, batches that are split) every chaos run shows.
it('a sound history passes, and every invariant has looked at something that it could have blamed', async () => {
  await scene.run(await scene.schedule({ afterMs: 20 }));
  await scene.run(await scene.schedule({ name: 'chaos.batch', afterMs: 20 }));
  await scene.runFenced(await scene.schedule({ name: 'chaos.fenced' }));
  await tellAllVerbs();
  await scene.sql(
    `INSERT INTO chaos.fault VALUES ('pause', now(), now()), ('pause', now(), now())`,
  );
  const { verdicts, figures } = await scene.judge();
  expect(verdicts.flatMap(({ examples }) => examples)).toEqual([]);
  expect(verdicts.map(({ invariant }) => invariant)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  // Five SKUs are the shop's; nobody has ordered, and no row and no node is left.
  const idle = verdicts.filter(({ checked }) => checked === 0);
  expect(idle.map(({ invariant }) => invariant)).toEqual([5]);
  expect(figures).toMatchObject({
    lost: 0,
    duplicated: 0,
    unexpected: 0,
    early: 0,
    effects: { fenced: 1, plain: 3 },
    faults: { pause: 2 },
  });
  // The one that was scheduled ahead, and the one that was rescheduled, but not the batch.
  expect(figures.lateness.calm.delays).toBe(2);
  expect(figures.lateness.calm.p50Ms).toBeGreaterThanOrEqual(0);
  expect(figures.lateness.faults).toEqual({ delays: 0, p50Ms: null, p99Ms: null, maxMs: null });
});

it('the torn last line of a process that was killed is forgiven', async () => {
  scene.log.invoke({
    verb: 'schedule',
    name: 'chaos.plain',
    key: null,
    token: 't',
    inTransaction: true,
  });
  scene.tear('{"kind":"ok","call":"c');
  const { verdicts } = await scene.judge();
  expect(verdicts.flatMap(({ examples }) => examples)).toEqual([]);
  expect(await scene.sql(`SELECT outcome FROM chaos.client`)).toEqual([{ outcome: 'unknown' }]);
});
