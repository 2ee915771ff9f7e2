import { expect, it } from '@jest/globals';
import type { PayloadCodec } from 'nestjs-delay-queue';
import { z } from 'zod';
import { plainHandler, signal } from '../../support/delay-node.js';
import { repeated } from '../../support/repeated.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';

const NAME = 'test.declared';

const turned = (text: string): string => text.split('').toReversed().join('');

const CODEC: PayloadCodec = { encode: turned, decode: turned };
const LATER: PayloadCodec = {
  encode: async (json) => turned(json),
  decode: async (json) => turned(json),
};
const SCHEMA = z.object({ card: z.string().transform((card) => `${card}!`) });

const stage = stageOfEach();

it.each([
  ['at once', CODEC, SCHEMA],
  ['later', LATER, SCHEMA.refine(async () => true)],
])(
  'of a declared payload nothing is readable in the table; its handler gets what the schema makes of it (%s)',
  async (_, codec, schema) => {
    const seen = signal<unknown>();
    const handler = plainHandler(NAME, ({ payload }) => seen.resolve(payload));
    const node = await stage.start({
      providers: [repeated(handler, NAME, { every: '1h', payload: { card: '4111' } })],
      options: { codec, payloads: { [NAME]: schema } },
    });
    expect(await stage.sql('SELECT payload FROM delay_queue.delay')).toEqual([
      { payload: { 'delay-queue:encoded': '}"1114":"drac"{' } },
    ]);
    expect(await node.delays.find(NAME, 'repeat')).toMatchObject({ payload: { card: '4111' } });
    await node.admin.runNow([{ name: NAME, key: 'repeat' }]);
    expect(await seen.promise).toEqual({ card: '4111!' });
  },
);
