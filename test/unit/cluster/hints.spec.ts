import { describe, expect, it } from '@jest/globals';
import {
  encodeAborts,
  encodeWakes,
  nodesHint,
  parseHint,
  probeHint,
} from '../../../src/delay-queue/cluster/hint.js';
import type { Wake } from '../../../src/delay-queue/store/wire/wakes.js';
import { Notifier } from '../../../src/delay-queue/cluster/notifier.js';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { signal } from '../../support/delay-node.js';

const wake = (id: number, name = 'order.close'): Wake => ({
  id,
  epoch: 3,
  name,
  group: null,
  wakeMs: 1_760_000_000_123,
  stalled: false,
  failed: false,
});

describe('a hint', () => {
  it('comes out as it went in', () => {
    const old = { ...wake(2), epoch: 2 ** 40 };
    const wakes = [wake(1), old, wake(Number.MAX_SAFE_INTEGER, 'x'.repeat(100))];
    const [text, ...more] = encodeWakes(wakes);
    expect(more).toEqual([]);
    expect(parseHint(text!)).toEqual({ kind: 'wakes', wakes });
    expect(parseHint(nodesHint('web-1'))).toEqual({ kind: 'nodes', came: 'web-1' });
    expect(parseHint(nodesHint())).toEqual({ kind: 'nodes' });
    expect(parseHint(probeHint('42'))).toEqual({ kind: 'probe', nonce: '42' });
    expect(encodeWakes([])).toEqual([]);
    const claims = [
      { id: 1, epoch: 0 },
      { id: Number.MAX_SAFE_INTEGER, epoch: 2 ** 40 },
    ];
    expect(encodeAborts(claims).map(parseHint)).toEqual([{ kind: 'abort', claims }]);
  });

  it('of many wakes is cut into texts that NOTIFY takes', () => {
    const wakes = Array.from({ length: 1_000 }, (_, n) => wake(2 ** 52 + n, 'n'.repeat(n % 120)));
    const texts = encodeWakes(wakes);
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(8_000);
    const back = texts.flatMap((text) => {
      const hint = parseHint(text);
      return hint?.kind === 'wakes' ? hint.wakes : [];
    });
    expect(back).toEqual(wakes);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'w{'],
    ['an id that is a fraction', 'w[[1.5,0,"a",1]]'],
    // It would fail the whole claim in which it travels: 22P02.
    ['an epoch that is a fraction', 'w[[1,1.5,"a",1]]'],
    ['a negative epoch', 'w[[1,-1,"a",1]]'],
    ['an id that no row has', 'w[[0,0,"a",1]]'],
    ['a time that is none', 'w[[1,0,"a",null]]'],
    ['a time beyond all numbers', 'w[[1,0,"a",1e999]]'],
    ['a deep one', `w${'['.repeat(20_000)}`],
    ['one bad among good', 'w[[1,0,"a",1],[2]]'],
    ['an abort of nothing', 'a{}'],
    ['an abort of a row that none is', 'a[[0,0]]'],
    ['an abort of no claim', 'a[[1]]'],
  ])('from a stranger is ignored: %s', (_, text) => {
    expect(parseHint(text)).toBeUndefined();
  });
});

describe('Notifier', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7])(
    'sends what comes while a round ends, %d microtasks after its answer',
    async (microtasks) => {
      const sent: string[] = [];
      const answer = signal();
      const runner = {
        query: <Row>(_sql: string, [, texts]: unknown[]): Promise<Row[]> => {
          // `{"a","b"}`, whose quotes are those of JSON.
          sent.push(...(JSON.parse(`[${String(texts).slice(1, -1)}]`) as string[]));
          return answer.promise.then(() => []);
        },
      };
      const notifier = new Notifier(runner, 'channel', new DelayEvents());
      notifier.send(wake(1));
      await new Promise(setImmediate);
      expect(sent).toHaveLength(1);
      answer.resolve();
      for (let n = 0; n < microtasks; n += 1) await Promise.resolve();
      notifier.send(wake(2));
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      expect(sent).toHaveLength(2);
      await notifier.drain();
    },
  );
});
