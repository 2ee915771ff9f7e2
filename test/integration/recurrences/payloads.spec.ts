import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayQueueOptions, PayloadCodec } from 'nestjs-delay-queue';
import { z } from 'zod';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.declared';
const KEY = 'repeat';

const turned = (text: string): string => text.split('').toReversed().join('');

const SYNC: PayloadCodec = { encode: turned, decode: turned };
const LATER: PayloadCodec = {
  encode: async (json) => turned(json),
  decode: async (json) => turned(json),
};

let stage: Stage;
let seen: unknown[];

beforeEach(async () => {
  stage = await Stage.open();
  seen = [];
});

afterEach(() => stage.close());

const start = (payload: unknown, options: DelayQueueOptions): Promise<DelayNode> => {
  const handler = plainHandler(NAME, (delay) => void seen.push(delay.payload));
  return stage.start({
    providers: [repeated(handler, NAME, { every: '1h', payload })],
    options,
  });
};

describe.each([
  ['synchronous', SYNC],
  ['asynchronous', LATER],
])('with a %s codec', (_, codec) => {
  it('nothing of a declared payload is readable in the table, and its handler gets it', async () => {
    const node = await start({ card: '4111' }, { codec });
    expect(await stage.sql('SELECT payload FROM delay_queue.delay')).toEqual([
      { payload: { 'delay-queue:encoded': '}"1114":"drac"{' } },
    ]);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: { card: '4111' } });
    await node.admin.runNow([{ name: NAME, key: KEY }]);
    await until(
      () => seen,
      ({ length }) => length > 0,
    );
    expect(seen).toEqual([{ card: '4111' }]);
  });
});

const NUMBER = z.object({ n: z.number().transform((n) => n * 2) });

describe.each([
  ['synchronous', NUMBER],
  ['asynchronous', NUMBER.refine(async () => true)],
])('with a %s schema', (_, schema) => {
  const payloads = { [NAME]: schema };

  it('its handler gets what the schema makes of it', async () => {
    const node = await start({ n: 3 }, { payloads });
    await node.admin.runNow([{ name: NAME, key: KEY }]);
    await until(
      () => seen,
      ({ length }) => length > 0,
    );
    expect(seen).toEqual([{ n: 6 }]);
  });
});
