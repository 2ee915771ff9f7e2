import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { Stage } from '../integration/engine/support/stage.js';
import type { DelayNode } from '../support/delay-node.js';

/** Whoever gets an error logs it, Nest first of all, with every property it has. */
const SECRET = 'secret4711';
const PAYLOAD = { card: SECRET };

let stage: Stage;
let node: DelayNode;

beforeEach(async () => {
  stage = await Stage.open();
  node = await stage.start({ options: { worker: false } });
});

afterEach(() => stage.close());

const printed = async (call: Promise<unknown>): Promise<string> => {
  const error: unknown = await call.then(
    () => 'it did not fail',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  return inspect(error, { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity });
};

/** The calls that send a payload to the database. */
const CALLS: [what: string, call: () => Promise<unknown>][] = [
  ['schedule', () => node.delays.schedule('test.h', PAYLOAD, { after: '1h' })],
  ['schedule with a key', () => node.delays.schedule('test.h', PAYLOAD, { after: 1, key: 'k' })],
  [
    'scheduleMany',
    () => node.delays.scheduleMany([{ name: 'test.h', payload: PAYLOAD, after: '1h' }]),
  ],
  [
    'schedule in a transaction',
    () =>
      node.dataSource.transaction((manager) =>
        node.delays.schedule('test.h', PAYLOAD, { after: '1h', manager }),
      ),
  ],
];

it.each(CALLS)('%s that the database refuses throws no payload', async (_what, call) => {
  await stage.sql('ALTER TABLE delay_queue.delay RENAME TO hidden');
  expect(await printed(call())).not.toContain(SECRET);
});

it.each(CALLS)('%s that breaks a constraint throws no payload', async (_what, call) => {
  await stage.sql('ALTER TABLE delay_queue.delay ADD CHECK (id < 0)');
  expect(await printed(call())).not.toContain(SECRET);
});

it('a refused payload is not in the error that refuses it', async () => {
  const refused = [
    { card: SECRET, n: NaN },
    { card: SECRET.repeat(10_000) },
    [SECRET, undefined],
    new Map([[SECRET, SECRET]]),
  ];
  for (const payload of refused) {
    const call = node.delays.schedule('test.h', payload as never, { after: 1 });
    expect(await printed(call)).not.toContain(SECRET);
  }
});

it('a conflict names the key and shows no payload', async () => {
  const once = { after: '1h', key: 'k', onConflict: 'error' } as const;
  await node.delays.schedule('test.h', PAYLOAD, once);
  const text = await printed(node.delays.schedule('test.h', PAYLOAD, once));
  expect(text).toContain('"k"');
  expect(text).not.toContain(SECRET);
});
