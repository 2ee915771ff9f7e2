import { expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { OneNode } from '../support/one-node.js';

/** Whoever gets an error logs it, Nest first of all, with every property it has. */
const SECRET = 'secret4711';
const PAYLOAD = { card: SECRET };

const node = new OneNode({ options: { worker: false } });

const printed = async (call: Promise<unknown>): Promise<string> => {
  const error: unknown = await call.then(
    () => 'it did not fail',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  return inspect(error, { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity });
};

/** The calls that send a payload to the database. */
const CALLS: (() => Promise<unknown>)[] = [
  () => node.delays.schedule('test.h', PAYLOAD, { after: '1h' }),
  () => node.delays.schedule('test.h', PAYLOAD, { after: 1, key: 'k' }),
  () => node.delays.scheduleMany([{ name: 'test.h', payload: PAYLOAD, after: '1h' }]),
  () =>
    node.dataSource.transaction((manager) =>
      node.delays.schedule('test.h', PAYLOAD, { after: '1h', manager }),
    ),
];

it.each([
  ['RENAME TO hidden', 'delay_queue.hidden RENAME TO delay'],
  ['ADD CONSTRAINT odd CHECK (id < 0)', 'delay_queue.delay DROP CONSTRAINT odd'],
])('whatever call the database refuses (%s) throws no payload', async (change, back) => {
  await node.sql(`ALTER TABLE delay_queue.delay ${change}`);
  const texts = [];
  for (const call of CALLS) texts.push(await printed(call()));
  await node.sql(`ALTER TABLE ${back}`);
  expect(texts.join('\n')).not.toContain(SECRET);
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
