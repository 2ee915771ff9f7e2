import { describe } from '@jest/globals';
import { expectBroken } from './support/expect-broken.js';

const ROW = `UPDATE delay_queue.delay SET`;

describe('7: attempts and epoch', () => {
  expectBroken({
    'a claim that counts no attempt': {
      breaks: [7],
      says: /a claim took the attempts from 0 to 0/,
      happens: async (scene) => {
        await scene.settle(
          await scene.seize(await scene.schedule({}), 'n1', { attempts: 0 }),
          null,
        );
      },
    },
    'one attempt too many': {
      breaks: [7],
      says: /attempt 6 of at most 5/,
      happens: async (scene) => {
        let next = await scene.schedule({});
        for (let attempt = 1; attempt <= 5; attempt += 1) {
          next = await scene.settle(await scene.claim(next, 'n1'), 0);
        }
        await scene.settle(await scene.seize(next, 'n1', { attempts: 1 }), null);
      },
    },
    'an epoch that stays': {
      breaks: [7],
      says: /a settle took the epoch from 1 to 1/,
      happens: async (scene) => {
        const claimed = await scene.claim(await scene.schedule({}), 'n1');
        await scene.write(
          'delay-queue n1',
          `${ROW} leased_by = NULL, leased_until = NULL WHERE id = $1`,
          claimed.id,
        );
        await scene.run({ ...claimed, epoch: 1 });
      },
    },
  });
});

describe('8: transitions', () => {
  expectBroken({
    'failed by a node that lost it': {
      breaks: [8],
      says: /a settle that is not allowed: from running at n1 to retrying, .* "delay-queue n2"/,
      happens: async (scene) => {
        const claimed = await scene.claim(await scene.schedule({}), 'n1');
        await scene.write(
          'delay-queue n2',
          `${ROW} leased_by = NULL, leased_until = NULL, epoch = epoch + 1 WHERE id = $1`,
          claimed.id,
        );
        await scene.run({ ...claimed, epoch: 2 });
      },
    },
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
        await scene.write('', `${ROW} wake_at = wake_at + interval '1 ms' WHERE id = $1`, made.id);
        await scene.sql(`ALTER TABLE delay_queue.delay ENABLE TRIGGER chaos_transition`);
        await scene.run(made);
      },
    },
  });
});
