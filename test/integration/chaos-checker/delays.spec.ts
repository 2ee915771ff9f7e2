import { describe } from '@jest/globals';
import { noteEffect } from '../../chaos/record/effect.js';
import { expectBroken } from './support/expect-broken.js';
import { type Made, type Scene } from './support/scene.js';

const fenced = { name: 'chaos.fenced' };
const HOUR_MS = 3_600_000;

const CLAIM = `UPDATE delay_queue.delay
  SET leased_by = 'n2', leased_until = clock_timestamp() + interval '1 minute',
      epoch = epoch + 1, attempts = attempts + 1 WHERE id = $1`;
const finish = async (scene: Scene, id: string, attempt: number): Promise<void> => {
  const [row] = await scene.sql<{ epoch: number; token: string }>(
    `SELECT epoch, payload->>'token' AS token FROM delay_queue.delay WHERE id = $1`,
    [id],
  );
  const of = { id, name: 'chaos.plain', call: '', node: 'n2', attempt };
  const claimed = { ...of, epoch: row?.epoch ?? 0, token: row?.token ?? '' };
  await scene.effect(claimed);
  await scene.complete(claimed);
};

describe('1: a delay that does not end', () => {
  expectBroken({
    'acknowledged and never written': {
      breaks: [1, 9],
      says: /t9.*told "scheduled", id 99, and no row ever held it/,
      happens: async ({ log }) => {
        const call = log.invoke({
          verb: 'schedule',
          name: 'chaos.plain',
          key: null,
          token: 't9',
          inTransaction: false,
        });
        log.ok(call, { verdict: 'scheduled', id: '99', dueMs: 0 });
      },
    },
    'its child waits': {
      breaks: [1, 10],
      says: /"child": it never ended/,
      happens: async (scene) => {
        await scene.run(await scene.schedule({ token: 'mother' }));
        await scene.place({ token: 'child', parent: 'mother' }, { afterMs: HOUR_MS });
      },
    },
  });
});

describe('2: effects', () => {
  expectBroken({
    'a fenced effect twice': {
      breaks: [2],
      says: /its transaction did it 2 times\n/,
      happens: async (scene) =>
        scene.runFenced(await scene.schedule(fenced), 'n1', async () => {
          const [{ delay_id: id, token } = { delay_id: '', token: '' }] = await scene.sql<{
            delay_id: string;
            token: string;
          }>(`SELECT delay_id, token FROM chaos.effect ORDER BY seq DESC LIMIT 1`);
          const delay = { id, name: 'chaos.fenced', attempt: 1, payload: { token } };
          await noteEffect(await scene.session(''), delay, { node: 'n1', fenced: true });
        }),
    },
    'a fenced effect that stayed though its attempt was given up': {
      breaks: [2],
      says: /attempt 1 of n1 committed an effect at .*, and that transaction did not end the delay/,
      happens: async (scene) => {
        const claimed = await scene.claim(await scene.schedule(fenced), 'n1');
        await scene.effect(claimed, { fenced: true });
        await scene.settle(claimed, null);
      },
    },
    'a plain one that was acknowledged before it was done': {
      breaks: [2],
      says: /completed at .* by attempt 1 of n1, which had not done it by then/,
      happens: async (scene) => {
        const claimed = await scene.claim(await scene.schedule({}), 'n1');
        await scene.complete(claimed);
        await scene.effect(claimed);
      },
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

describe('3: a claim too early', () => {
  expectBroken({
    'before due': {
      breaks: [3],
      says: /n2 claimed it at .*, and it was due at/,
      happens: async (scene) => {
        const { id } = await scene.schedule({ afterMs: HOUR_MS });
        await scene.write('delay-queue n2', CLAIM, id);
        await finish(scene, id, 1);
      },
    },
    'during the pause before a retry': {
      breaks: [3],
      says: /n2 claimed it at .*, and its wake was at/,
      happens: async (scene) => {
        const { id } = await scene.settle(
          await scene.claim(await scene.schedule({}), 'n1'),
          HOUR_MS,
        );
        await scene.write('delay-queue n2', CLAIM, id);
        await finish(scene, id, 2);
      },
    },
    'while another lease runs': {
      breaks: [3],
      says: /n2 claimed it at .*, while the lease of n1 ran until/,
      happens: async (scene) => {
        const { id } = await scene.claim(await scene.schedule({}), 'n1');
        await scene.write('delay-queue n2', CLAIM, id);
        await finish(scene, id, 2);
      },
    },
    'of a dead letter': {
      breaks: [3, 8],
      says: /n2 claimed a dead letter/,
      happens: async (scene) => {
        const { id } = await scene.settle(await scene.claim(await scene.schedule({}), 'n1'), null);
        await scene.write('delay-queue n2', CLAIM, id);
        await scene.write(
          'delay-queue n2',
          `UPDATE delay_queue.delay SET leased_by = NULL, leased_until = NULL, epoch = epoch + 1
           WHERE id = $1`,
          id,
        );
      },
    },
  });
});
