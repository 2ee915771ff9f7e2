import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clientRunner } from '../../support/other-node.js';
import { Scene } from './support/scene.js';

let scene: Scene;

beforeEach(async () => {
  scene = await Scene.open();
});

afterEach(() => scene.close());

const broken = async (): Promise<string[]> => {
  const { verdicts } = await scene.judge();
  return verdicts.flatMap(({ invariant, examples }) =>
    examples.map((each) => `${invariant}: ${each}`),
  );
};

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

describe('a history as it should be', () => {
  it('passes, and every invariant has looked at something that it could have blamed', async () => {
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

  it('a slow one that is renewed and completed', async () => {
    const claimed = await scene.claim(await scene.schedule({ name: 'chaos.slow' }), 'n1');
    const store = await scene.work('n1');
    await store.renew([{ id: Number(claimed.id), epoch: claimed.epoch }], 120_000);
    await scene.effect(claimed);
    await scene.complete(claimed);
    expect(await broken()).toEqual([]);
  });

  it('a crash between effect and acknowledgement does a plain one again', async () => {
    const made = await scene.schedule({});
    const lost = await scene.claim(made, 'n1', 1);
    await scene.effect(lost);
    await scene.run({ ...lost, epoch: lost.epoch }, 'n2');
    expect(await broken()).toEqual([]);
  });

  it('a paused node that did it after all, and was not believed', async () => {
    const lost = await scene.claim(await scene.schedule({}), 'n1', 1);
    await scene.run(lost, 'n2');
    await scene.effect(lost);
    await scene.complete(lost);
    expect(await broken()).toEqual([]);
  });

  it('a recurring delay moves on with its effect, and its children have their tokens', async () => {
    const first = await scene.schedule({
      name: 'chaos.recurring-fenced',
      key: 'r',
      token: 'r',
      left: 1,
    });
    const claimed = await scene.claim(first, 'n1');
    await scene.sql('BEGIN');
    await scene.effect(claimed, { fenced: true });
    const own = { id: Number(claimed.id), epoch: claimed.epoch, latenessMs: 1 };
    await scene.clients('n1').moveOn(
      clientRunner(await scene.session('')),
      own,
      { kind: 'after', ms: 0 },
      {
        verdict: 'scheduled',
        payload: JSON.stringify({ token: 'r#0', parent: 'r', left: 0 }),
        maxAttempts: null,
      },
      'at once',
    );
    await scene.sql('COMMIT');
    await scene.runFenced({ ...claimed, token: 'r#0', epoch: claimed.epoch + 1 });
    expect(await broken()).toEqual([]);
  });

  it('a call without an answer may show once or not at all', async () => {
    const ask = (token: string): string =>
      scene.log.invoke({
        verb: 'schedule',
        name: 'chaos.plain',
        key: null,
        token,
        inTransaction: true,
      });
    ask('never');
    scene.log.unknown(ask('never heard of'), new Error('Connection terminated'));
    const { id, epoch, name } = await scene.schedule({ token: 'there' });
    await scene.run({ id, epoch, name, token: 'there', call: '' });
    expect(await broken()).toEqual([]);
  });
});
