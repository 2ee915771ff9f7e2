import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayCodecError, type PayloadCodec, type PayloadOwner } from 'nestjs-delay-queue';
import { z } from 'zod';
import { batchHandler, fencedHandler, plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { Stage } from './engine/support/stage.js';

const LATER = { after: '1h' } as const;

/** Keys that this node has; `write` is the one that it writes with. */
let keys: { known: string[]; write: string };
let seen: unknown[];
let owners: PayloadOwner[];

const turned = (text: string): string => text.split('').toReversed().join('');

const sync: PayloadCodec = {
  encode(json, owner) {
    owners.push(owner);
    return `${keys.write}:${turned(json)}`;
  },
  decode(encoded, owner) {
    owners.push(owner);
    const [key = '', text = ''] = encoded.split(/:(.*)/s);
    if (!keys.known.includes(key)) throw new Error(`no key ${key}`);
    return turned(text);
  },
};

const later: PayloadCodec = {
  encode: async (json, owner) => sync.encode(json, owner),
  decode: async (encoded, owner) => sync.decode(encoded, owner),
};

beforeEach(() => {
  keys = { known: ['k1', 'k2'], write: 'k1' };
  seen = [];
  owners = [];
});

const take = ({ payload }: { payload: unknown }): void => void seen.push(payload);
const NAMES = ['test.plain', 'test.fenced', 'test.batch'] as const;

describe.each([
  ['synchronous', sync],
  ['asynchronous', later],
])('with a %s codec', (_, codec) => {
  const retryLater = { backoff: { base: '1m' } } as const;
  const node = new OneNode({
    providers: [
      plainHandler('test.plain', take, retryLater),
      fencedHandler('test.fenced', take, retryLater),
      batchHandler('test.batch', (delays) => delays.forEach(take), { ...retryLater, batch: 10 }),
      plainHandler('test.checked', take),
    ],
    options: {
      codec,
      payloadBytesMax: 200,
      payloads: { 'test.checked': z.object({ n: z.number().transform((n) => n * 2) }) },
    },
  });

  const stored = async (): Promise<unknown[]> =>
    (await node.sql('SELECT payload FROM delay_queue.delay ORDER BY id')).map(
      ({ payload }) => payload,
    );

  it.each(NAMES)(
    '%s gets what was scheduled, also with an older key or without any',
    async (name) => {
      await node.delays.schedule(name, { card: '4111' }, { ...LATER, key: 'a' });
      keys.write = 'k2';
      await node.delays.scheduleMany([{ name, payload: 'secret', ...LATER, key: 'b' }]);
      // Nothing of it is readable in the table.
      expect(await stored()).toEqual([
        { 'delay-queue:encoded': 'k1:}"1114":"drac"{' },
        { 'delay-queue:encoded': 'k2:"terces"' },
      ]);
      const plain = { 'delay-queue:encoded': 'no', 'a key that is longer than the mark': 1 };
      await node.sql(
        `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       VALUES ($1, 'c', $2, now(), now(), now())`,
        [name, plain],
      );
      await node.admin.runNow({ name });
      await node.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
      expect(new Set(seen)).toEqual(new Set([{ card: '4111' }, 'secret', plain]));
      expect(owners.slice(0, 2)).toEqual(['a', 'b'].map((key) => ({ name, key })));
    },
  );

  it.each(NAMES)(
    '%s without the key: only that is tried again, no dead letter, and runs when the key is there',
    async (name) => {
      await node.delays.schedule(name, 'lost', { ...LATER, key: 'a' });
      keys = { known: ['k2'], write: 'k2' };
      await node.delays.schedule(name, 'read', { ...LATER, key: 'b' });
      const ends = [node.next('retrying'), node.next('completed')];
      await node.admin.runNow({ name });
      const [retrying, completed] = await Promise.all(ends);
      expect(completed).toMatchObject({ key: 'b', attempt: 1 });
      expect(retrying).toMatchObject({
        key: 'a',
        attempt: 1,
        cause: expect.any(DelayCodecError),
        error: `DelayCodecError: the codec cannot decode a payload of ${name} (cause: Error: no key k1)`,
      });
      keys.known = ['k1'];
      const again = node.next('completed');
      await node.admin.runNow([{ name, key: 'a' }]);
      await again;
      expect(seen).toEqual(['read', 'lost']);
    },
  );

  it('find, list and story decode; without the key find says so, and a list has the others', async () => {
    await node.delays.schedule('test.plain', 'lost', { ...LATER, key: 'a' });
    keys.write = 'k2';
    await node.delays.schedule('test.plain', 'read', { ...LATER, key: 'b' });
    expect(await node.delays.find('test.plain', 'a')).toMatchObject({ payload: 'lost' });
    expect(await node.admin.list({})).toMatchObject([{ payload: 'lost' }, { payload: 'read' }]);
    expect(await node.admin.story('a')).toMatchObject({ delays: [{ payload: 'lost' }] });
    keys.known = ['k2'];
    await expect(node.delays.find('test.plain', 'a')).rejects.toMatchObject({
      code: 'DELAY_CODEC',
      message: expect.stringContaining('test.plain'),
    });
    expect(await node.admin.list({ name: 'test.plain' })).toMatchObject([
      { key: 'a', payload: undefined, unreadable: expect.any(DelayCodecError) },
      { key: 'b', payload: 'read' },
    ]);
    const cancelled = [{ verdict: 'cancelled' }];
    const targets = [{ name: 'test.plain', key: 'a' }] as const;
    expect(await node.admin.cancel([...targets])).toMatchObject(cancelled);
  });

  it('a schema sees the payload, not what is stored of it', async () => {
    const wrong = node.delays.schedule('test.checked', { n: 'x' }, LATER);
    await expect(wrong).rejects.toMatchObject({ field: 'payload.n' });
    const completed = node.next('completed');
    await node.delays.schedule('test.checked', { n: 2 }, { after: 0 });
    await completed;
    expect(seen).toEqual([{ n: 4 }]);
  });

  it('what is too large when it is encoded is refused, and so is what cannot be encoded', async () => {
    const payload = 'x'.repeat(180);
    await expect(node.delays.schedule('test.plain', payload, LATER)).rejects.toMatchObject({
      field: 'payload',
      why: expect.stringContaining('larger than 200 bytes'),
    });
    keys.write = '\0';
    const call = node.delays.schedule('test.plain', 1, LATER);
    await expect(call).rejects.toMatchObject({ code: 'DELAY_INVALID' });
    expect(await stored()).toEqual([]);
  });
});

it('without a codec an encoded payload is tried again, and no handler sees it; none may look like one', async () => {
  const stage = await Stage.open();
  const plain = plainHandler('test.plain', take, { backoff: { base: '1m' } });
  const node = await stage.start({ providers: [plain] });
  const other = await stage.start({ options: { codec: sync, worker: false } });
  await other.delays.schedule('test.plain', 1, { after: '1h', key: 'k' });
  const retrying = node.next('retrying');
  await node.admin.runNow([{ name: 'test.plain', key: 'k' }]);
  expect(await retrying).toMatchObject({ error: expect.stringContaining('has no codec') });
  await expect(node.delays.find('test.plain', 'k')).rejects.toThrow('has no codec');
  expect(seen).toEqual([]);
  const looks = node.delays.schedule('test.plain', { 'delay-queue:encoded': 'x' }, LATER);
  await expect(looks).rejects.toMatchObject({ field: 'payload["delay-queue:encoded"]' });
  await stage.close();
});

it('a strict codec refuses what it has not written, and reads the rest', async () => {
  const stage = await Stage.open();
  const plain = plainHandler('test.plain', take, { backoff: { base: '1m' } });
  const node = await stage.start({
    providers: [plain],
    options: { codec: { ...sync, strict: true } },
  });
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'test.plain', 'planted', '{"refund":1}', now() + '1 h', now() + '1 h', now()`,
  );
  await node.delays.schedule('test.plain', null, { after: '1h', key: 'own' });
  const refused = {
    code: 'DELAY_CODEC',
    message: expect.stringContaining('stored without the codec'),
  };
  await expect(node.delays.find('test.plain', 'planted')).rejects.toMatchObject(refused);
  const retrying = node.next('retrying');
  await node.admin.runNow([{ name: 'test.plain', key: 'planted' }]);
  expect(await retrying).toMatchObject({
    error: expect.stringContaining('stored without the codec'),
  });
  const completed = node.next('completed');
  await node.admin.runNow([{ name: 'test.plain', key: 'own' }]);
  expect(await completed).toMatchObject({ key: 'own' });
  expect(seen).toEqual([null]);
  await stage.close();
});

const noKey = new Error('no key');
let encode: PayloadCodec['encode'];
const failing = new OneNode({
  options: { codec: { encode: (...given) => encode(...given), decode: String }, worker: false },
});

it.each<[string, PayloadCodec['encode']]>([
  [
    'throws',
    () => {
      throw noKey;
    },
  ],
  ['rejects', () => Promise.reject(noKey)],
  ['answers no text', () => Buffer.from('x') as never],
])('a codec that %s: a typed error, and nothing is written', async (_, given) => {
  encode = given;
  for (const call of [
    () => failing.delays.schedule('test.plain', 1, LATER),
    () => failing.delays.scheduleMany([{ name: 'test.plain', payload: 1, ...LATER }]),
  ]) {
    await expect(call()).rejects.toMatchObject({
      code: 'DELAY_CODEC',
      message: expect.stringContaining('nothing was written'),
      cause: expect.any(Error),
    });
  }
  expect(await failing.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
});
