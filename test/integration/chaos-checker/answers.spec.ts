import { describe } from '@jest/globals';
import { presenceSql } from '../../../src/delay-queue/store/sql/nodes/presence.sql.js';
import type { Verb } from '../../chaos/record/client-line.js';
import { expectBroken } from './support/expect-broken.js';
import { clientRunner } from '../../support/other-node.js';
import { type Made, type Scene } from './support/scene.js';

const HOUR_MS = 3_600_000;

const ask = (scene: Scene, verb: Verb, { name }: Made, key: string): string =>
  scene.log.invoke({ verb, name, key, token: null, inTransaction: false });

const schedule = (token: string, inTransaction = false) =>
  ({ verb: 'schedule', name: 'chaos.plain', key: null, token, inTransaction }) as const;

const told = (scene: Scene, call: string, verdict: string, { id }: Made): void =>
  scene.log.ok(call, { verdict, id, dueMs: Date.now() + HOUR_MS });

describe('4: told and done', () => {
  expectBroken({
    'told "rescheduled", and nothing was written': {
      breaks: [4],
      says: /told that it is due at .*, and no reschedule wrote that/,
      happens: async (scene) => {
        const made = await scene.schedule({ key: 'k' });
        told(scene, ask(scene, 'reschedule', made, 'k'), 'rescheduled', made);
        await scene.run(made);
      },
    },
    'told "retried", and nothing was written': {
      breaks: [4],
      says: /told "retried", and nothing was written/,
      happens: async (scene) => {
        const made = await scene.schedule({ key: 'k' });
        await scene.settle(await scene.claim(made, 'n1'), null);
        told(scene, ask(scene, 'retryDead', made, 'k'), 'retried', made);
      },
    },
  });
});

describe('9: what clients know', () => {
  expectBroken({
    'told another due time than was written': {
      breaks: [9],
      says: /was told due at .*, and the row says/,
      happens: async (scene) => {
        const call = scene.log.invoke(schedule('other'));
        const made = await scene.place({ token: 'other' });
        scene.log.ok(call, { verdict: 'scheduled', id: made.id, dueMs: made.dueMs + 2 });
        await scene.run(made);
      },
    },
    'a delay that nobody asked for': {
      breaks: [9],
      says: /"stray": nobody asked for it/,
      happens: async (scene) => scene.run(await scene.place({ token: 'stray' })),
    },
    'a cancel that was told "running"': {
      breaks: [9],
      says: /a cancel, and every call for it was told that nothing was done/,
      happens: async (scene) => {
        const made = await scene.schedule({ key: 'k', afterMs: HOUR_MS });
        await scene.clients().cancel(clientRunner(await scene.session('')), made.name, 'k');
        told(scene, ask(scene, 'cancel', made, 'k'), 'running', made);
      },
    },
    'a business row without its delay': {
      breaks: [9],
      says: /"b": call c-\d+ \(unknown\): the business row is there, the delay is not/,
      happens: async (scene) => {
        scene.log.unknown(scene.log.invoke(schedule('b', true)), new Error('terminated'));
        await scene.sql(`INSERT INTO chaos.business VALUES ('b')`);
      },
    },
  });
});

describe('10: after quiet', () => {
  expectBroken({
    'a node that is thought to be there': {
      breaks: [10],
      says: /"n9": some session still holds the lock of its presence/,
      happens: async (scene) => {
        await scene.sql(`INSERT INTO delay_queue.node VALUES ('n9', '{}', true, now(), now())`);
        await scene.sql(presenceSql(), ['n9']);
      },
    },
  });
});
