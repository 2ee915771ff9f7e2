import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { DelayAdmin } from 'nestjs-delay-queue';
import { Stage } from '../integration/engine/support/stage.js';
import type { DelayNode } from '../support/delay-node.js';

/** Whatever an option of a call may be called, with a value that would act. */
const POLLUTION: Readonly<Record<string, unknown>> = {
  after: 1,
  at: new Date(0),
  extendBy: '1d',
  key: 'polluted',
  onConflict: 'keep',
  maxWait: '1d',
  running: 'abort',
  abortWithin: 1,
  maxAttempts: 1,
  group: 'polluted',
  headers: { polluted: 'yes' },
  repeat: { every: '1s' },
  state: 'dead',
  limit: 1,
  id: '1',
  reason: 'polluted',
  manager: 'polluted',
  until: new Date(0),
};
const NAMES = Object.keys(POLLUTION);

let stage: Stage;
let node: DelayNode;

beforeAll(async () => {
  stage = await Stage.open();
  node = await stage.start({ options: { worker: false } });
});
afterEach(async () => {
  await stage.truncate('delay', 'pause');
});
afterAll(() => stage.close());

/** A call as long as it reads what it is given, while another package has put all that into `Object.prototype`. */
function polluted<Result>(names: readonly string[], call: () => Result): Result {
  for (const name of names) {
    const value = POLLUTION[name];
    // oxlint-disable-next-line no-extend-native -- what is tested
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  }
  try {
    return call();
  } finally {
    for (const name of names) Reflect.deleteProperty(Object.prototype, name);
  }
}

const rows = () =>
  stage.sql(
    `SELECT name, key, group_id, headers, repeat, max_attempts, due_at > now() + interval '30 min' AS is_later
     FROM delay_queue.delay ORDER BY id`,
  );

it.each([...NAMES.map((name) => [name]), NAMES])(
  'what another package has put into Object.prototype is no option: %s',
  async (...names) => {
    const { delays } = node;
    const admin = node.app.get(DelayAdmin);
    await polluted(names, () => delays.schedule('test.free', null, { after: '1h' }));
    await polluted(names, () => delays.schedule('test.free', null, { after: '1h', key: 'k' }));
    await polluted(names, () =>
      delays.scheduleMany([{ name: 'test.free', payload: null, after: '1h', key: 'many' }]),
    );
    const plain = { name: 'test.free', group_id: null, headers: null, repeat: null };
    const row = (key: string | null) => ({ ...plain, key, max_attempts: null, is_later: true });
    expect(await rows()).toEqual([row(null), row('k'), row('many')]);
    const moved = await polluted(names, () => delays.reschedule('test.free', 'k', { after: '2h' }));
    expect(moved).toMatchObject({ verdict: 'rescheduled' });
    const page = await polluted(names, () => admin.list({}, {}));
    expect(page).toHaveLength(3);
    await polluted(names, () => admin.pause('test.free'));
    expect(await stage.sql('SELECT group_id, reason FROM delay_queue.pause')).toEqual([
      { group_id: '', reason: null },
    ]);
    const gone = await polluted(names, () => delays.cancel('test.free', 'k'));
    expect(gone).toMatchObject({ verdict: 'cancelled' });
    expect(await rows()).toEqual([row(null), row('many')]);
  },
);

const OF_SCHEDULE = [
  'after',
  'at',
  'key',
  'onConflict',
  'maxWait',
  'maxAttempts',
  'group',
  'headers',
];

it.each(OF_SCHEDULE)('an inherited option is refused, not left out: %s', async (name) => {
  const given = Object.create({ [name]: POLLUTION[name] }) as { after: string };
  if (name !== 'after') given.after = '1h';
  await expect(node.delays.schedule('test.free', null, given)).rejects.toMatchObject({
    code: 'DELAY_INVALID',
    field: `options.${name}`,
  });
});

it('options of which a getter or a proxy throws are refused', async () => {
  const hostile = [
    Object.defineProperty({}, 'after', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    }),
    new Proxy(
      {},
      {
        has: () => {
          throw new Error('no');
        },
      },
    ),
    new Proxy(
      { after: 1 },
      {
        getOwnPropertyDescriptor: () => {
          throw new Error('no');
        },
      },
    ),
  ];
  for (const options of hostile) {
    await expect(node.delays.schedule('test.free', null, options as never)).rejects.toMatchObject({
      code: 'DELAY_INVALID',
    });
  }
});
