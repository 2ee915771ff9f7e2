import { describe } from '@jest/globals';
import { noteEffect } from '../../chaos/record/effect.js';
import { expectBroken } from './support/expect-broken.js';
import { type Made, type Scene } from './support/scene.js';

const HOUR_MS = 3_600_000;

const CLAIM = `UPDATE delay_queue.delay
  SET leased_by = 'n2', leased_until = clock_timestamp() + interval '1 minute',
      epoch = epoch + 1, attempts = attempts + 1 WHERE id = $1`;

describe('2: effects', () => {
  expectBroken({
    'a fenced effect twice': {
      breaks: [2],
      says: /its transaction did it 2 times\n/,
      happens: async (scene) =>
        scene.runFenced(await scene.schedule({ name: 'chaos.fenced' }), 'n1', async () => {
          const [{ delay_id: id, token } = { delay_id: '', token: '' }] = await scene.sql<{
            delay_id: string;
            token: string;
          }>(`SELECT delay_id, token FROM chaos.effect ORDER BY seq DESC LIMIT 1`);
          const delay = { id, name: 'chaos.fenced', attempt: 1, payload: { token } };
          await noteEffect(await scene.session(''), delay, { node: 'n1', fenced: true });
        }),
    },
    'a plain one done more often than claimed': {
      breaks: [2],
      says: /n1 did attempt 1 of it 2 times and claimed it 1 times/,
      happens: async (scene) => {
        const claimed = await scene.claim(await scene.schedule({}), 'n1');
        await scene.effect(claimed);
        await scene.effect(claimed);
        await scene.complete(claimed);
      },
    },
    'a child of a parent that was never there': {
      breaks: [2],
      says: /"lonely": no row ever held its parent nobody/,
      happens: async (scene) =>
        scene.run(await scene.schedule({ token: 'lonely', parent: 'nobody' })),
    },
    'a fenced parent without the child it had to make': {
      breaks: [2],
      says: /"childless": it ended well, and what it had to schedule is not there/,
      happens: async (scene) => {
        const chain = { name: 'chaos.chain', left: 1 };
        const mother = await scene.schedule({ ...chain, token: 'mother' });
        const children: Made[] = [];
        await scene.runFenced(mother, 'n1', async () => {
          children.push(await scene.place({ token: 'child', parent: 'mother' }));
        });
        for (const child of children) await scene.run(child);
        await scene.runFenced(await scene.schedule({ ...chain, token: 'childless' }));
      },
    },
  });
});

/** Ends the attempt that {@link CLAIM} began. */
async function finish(scene: Scene, { id, token }: Made, attempt: number): Promise<void> {
  const [row] = await scene.sql<{ epoch: number }>(
    `SELECT epoch FROM delay_queue.delay WHERE id = $1`,
    [id],
  );
  const of = { id, name: 'chaos.plain', token, call: '', node: 'n2', attempt };
  const claimed = { ...of, epoch: row?.epoch ?? 0 };
  await scene.effect(claimed);
  await scene.complete(claimed);
}

describe('3: a claim too early', () => {
  expectBroken({
    'during the pause before a retry': {
      breaks: [3],
      says: /n2 claimed it at .*, and its wake was at/,
      happens: async (scene) => {
        const claimed = await scene.claim(await scene.schedule({}), 'n1');
        const made = await scene.settle(claimed, HOUR_MS);
        await scene.write('delay-queue n2', CLAIM, made.id);
        await finish(scene, made, 2);
      },
    },
  });
});

describe('8: transitions', () => {
  expectBroken({
    'history of what never ended': {
      breaks: [8],
      says: /history says "completed" at epoch 7, and nothing ended there/,
      happens: (scene) =>
        scene.sql(`INSERT INTO delay_queue.history
          SELECT id + 1000, ended_at, due_at, created_at, lateness_ms, 7, attempts, state, name, key, node,
                 error FROM delay_queue.history LIMIT 1`),
    },
    'a row that comes back after its end': {
      breaks: [8, 1, 9, 10],
      says: /delay \d+, "back": the id came twice/,
      happens: async (scene) => {
        const made = await scene.schedule({ token: 'back' });
        await scene.run(made);
        await scene.sql(
          `INSERT INTO delay_queue.delay (id, name, payload, due_at, wake_at, created_at)
           OVERRIDING SYSTEM VALUE
           SELECT $1, 'chaos.plain', '{"token":"back"}', now, now, now
           FROM (SELECT clock_timestamp() AS now) clock`,
          [made.id],
        );
      },
    },
    'a write past the trigger': {
      breaks: [8],
      says: /between revision 1 and this one somebody wrote unseen/,
      happens: async (scene) => {
        const made = await scene.schedule({});
        await scene.sql(`ALTER TABLE delay_queue.delay DISABLE TRIGGER chaos_transition`);
        const late = `UPDATE delay_queue.delay SET wake_at = wake_at + interval '1 ms' WHERE id = $1`;
        await scene.write('', late, made.id);
        await scene.sql(`ALTER TABLE delay_queue.delay ENABLE TRIGGER chaos_transition`);
        await scene.run(made);
      },
    },
  });
});
