import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayCodecError, type PayloadCodec, type PayloadOwner } from 'nestjs-delay-queue';
import { z } from 'zod';
import { batchHandler, fencedHandler, plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';

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

  it.each(['test.plain', 'test.fenced', 'test.batch'] as const)(
    '%s gets what was scheduled, and nothing of it is readable in the table',
    async (name) => {
      await node.delays.schedule(name, { card: '4111' }, { ...LATER, key: 'a' });
      await node.delays.scheduleMany([{ name, payload: 'secret', ...LATER, key: 'b' }]);
      expect(await stored()).toEqual([
        { 'delay-queue:encoded': 'k1:}"1114":"drac"{' },
        { 'delay-queue:encoded': 'k1:"terces"' },
      ]);
      await node.admin.runNow({ name });
      await node.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
      expect(new Set(seen)).toEqual(new Set([{ card: '4111' }, 'secret']));
      expect(owners.slice(0, 2)).toEqual([
        { name, key: 'a' },
        { name, key: 'b' },
      ]);
    },
  );

  it('reads what was written with an older key, and what was stored without a codec', async () => {
    await node.delays.schedule('test.plain', 'old key', { ...LATER, key: 'a' });
    keys.write = 'k2';
    await node.delays.schedule('test.plain', 'new key', { ...LATER, key: 'b' });
    await node.sql(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       VALUES ('test.plain', 'c', '{"delay-queue:encoded": "no", "a key that is longer than the mark": 1}', now(), now(), now())`,
    );
    await node.admin.runNow({ name: 'test.plain' });
    await node.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    expect(new Set(seen)).toEqual(
      new Set(['old key', 'new key', expect.objectContaining({ 'delay-queue:encoded': 'no' })]),
    );
  });

  it('find, list and story decode', async () => {
    const payload = { n: 1 };
    await node.delays.schedule('test.plain', payload, { ...LATER, key: 'k' });
    expect(await node.delays.find('test.plain', 'k')).toMatchObject({ payload });
    expect(await node.admin.list({})).toMatchObject([{ payload }]);
    expect(await node.admin.story('k')).toMatchObject({ delays: [{ payload }] });
  });

  it('a schema sees the payload, not what is stored of it', async () => {
    const wrong = node.delays.schedule('test.checked', { n: 'x' }, LATER);
    await expect(wrong).rejects.toMatchObject({ field: 'payload.n' });
    const completed = node.next('completed');
    await node.delays.schedule('test.checked', { n: 2 }, { after: 0 });
    await completed;
    expect(seen).toEqual([{ n: 4 }]);
  });

  it.each(['test.plain', 'test.fenced', 'test.batch'] as const)(
    '%s without the key: tried again, no dead letter, and it runs when the key is there',
    async (name) => {
      await node.delays.schedule(name, 1, { ...LATER, key: 'a' });
      keys.known = ['k2'];
      const retrying = node.next('retrying');
      await node.admin.runNow([{ name, key: 'a' }]);
      const { cause, error } = await retrying;
      expect(cause).toBeInstanceOf(DelayCodecError);
      expect(error).toBe(
        `DelayCodecError: the codec cannot decode a payload of ${name} (cause: Error: no key k1)`,
      );
      keys.known = ['k1'];
      const completed = node.next('completed');
      await node.admin.runNow([{ name, key: 'a' }]);
      await completed;
      expect(seen).toEqual([1]);
    },
  );

  it('of a batch only those fail that cannot be decoded', async () => {
    await node.delays.schedule('test.batch', 'lost', { ...LATER, key: 'a' });
    keys = { known: ['k2'], write: 'k2' };
    await node.delays.schedule('test.batch', 'read', { ...LATER, key: 'b' });
    const retrying = node.next('retrying');
    const completed = node.next('completed');
    await node.admin.runNow({ name: 'test.batch' });
    expect(await retrying).toMatchObject({ key: 'a', attempt: 1 });
    expect(await completed).toMatchObject({ key: 'b', attempt: 1 });
    expect(seen).toEqual(['read']);
  });

  it('without the key find says so, and a list has the others', async () => {
    await node.delays.schedule('test.plain', 'lost', { ...LATER, key: 'a' });
    keys = { known: ['k2'], write: 'k2' };
    await node.delays.schedule('test.plain', 'read', { ...LATER, key: 'b' });
    await expect(node.delays.find('test.plain', 'a')).rejects.toMatchObject({
      code: 'DELAY_CODEC',
      message: expect.stringContaining('test.plain'),
    });
    expect(await node.admin.list({ name: 'test.plain' })).toMatchObject([
      { key: 'a', payload: undefined, unreadable: expect.any(DelayCodecError) },
      { key: 'b', payload: 'read' },
    ]);
    expect(await node.admin.cancel([{ name: 'test.plain', key: 'a' }])).toMatchObject([
      { verdict: 'cancelled' },
    ]);
  });

  it('what is too large when it is encoded is refused, and so is what cannot be encoded', async () => {
    const payload = 'x'.repeat(180);
    await expect(node.delays.schedule('test.plain', payload, LATER)).rejects.toMatchObject({
      field: 'payload',
      why: expect.stringContaining('larger than 200 bytes'),
    });
    keys.write = '\0';
    await expect(node.delays.schedule('test.plain', 1, LATER)).rejects.toMatchObject({
      code: 'DELAY_INVALID',
    });
    expect(await stored()).toEqual([]);
  });
});

describe('without a codec', () => {
  const node = new OneNode({
    providers: [plainHandler('test.plain', take, { backoff: { base: '1m' } })],
  });

  it('an encoded payload is a failure that is tried again, and no handler sees it', async () => {
    const other = await node.start({ options: { codec: sync, worker: false } });
    await other.delays.schedule('test.plain', 1, { after: '1h', key: 'k' });
    const retrying = node.next('retrying');
    await node.admin.runNow([{ name: 'test.plain', key: 'k' }]);
    expect(await retrying).toMatchObject({ error: expect.stringContaining('has no codec') });
    await expect(node.delays.find('test.plain', 'k')).rejects.toThrow('has no codec');
    expect(seen).toEqual([]);
  });

  it('a payload that looks like an encoded one is refused', async () => {
    const payload = { 'delay-queue:encoded': 'x' };
    await expect(node.delays.schedule('test.plain', payload, LATER)).rejects.toMatchObject({
      field: 'payload["delay-queue:encoded"]',
    });
  });
});

describe('a codec that', () => {
  let encode: PayloadCodec['encode'];
  const node = new OneNode({
    options: { codec: { encode: (...given) => encode(...given), decode: String } },
  });

  it.each<[string, PayloadCodec['encode']]>([
    [
      'throws',
      () => {
        throw new Error('no key');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no key'))],
    ['answers no text', () => Buffer.from('x') as never],
  ])('%s: a typed error, and nothing is written', async (_, given) => {
    encode = given;
    const item = { name: 'test.plain', payload: 1, ...LATER } as const;
    for (const call of [
      () => node.delays.schedule('test.plain', 1, LATER),
      () => node.delays.scheduleMany([item]),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'DELAY_CODEC',
        message: expect.stringContaining('nothing was written'),
        cause: expect.any(Error),
      });
    }
    expect(await node.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
  });
});
