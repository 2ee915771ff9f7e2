import { describe, expect, it } from '@jest/globals';
import { Notifier } from '../../../src/delay-queue/core/cluster/notifier.js';
import {
  encodeAborts,
  encodeVacant,
  encodeWakes,
  type HintedWake,
  nodesHint,
  parseHint,
  probeHint,
} from '../../../src/delay-queue/core/cluster/hint.js';
import { groupNumber } from '../../../src/delay-queue/core/store/rows/attempt-rows.js';
import { DelayEvents } from '../../../src/delay-queue/core/api/events.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { signal } from '../../support/delay-node.js';

const wake = (id: number, more: Partial<Wake> = {}): Wake => ({
  id,
  epoch: 3,
  name: 'order.close',
  group: null,
  wakeMs: 1_760_000_000_123,
  stalled: false,
  failed: false,
  ...more,
});

/** As a hint tells of it. */
const told = ({ group, ...of }: Wake): HintedWake => ({
  ...of,
  groupNumber: group === null ? null : groupNumber(group),
});

describe('a hint', () => {
  it('comes out as it went in', () => {
    const id = Number.MAX_SAFE_INTEGER;
    const of = [wake(id, { epoch: 2 ** 40, failed: true }), wake(2, { group: 'g' })];
    const wakes = [wake(1), ...of, wake(3, { group: '', failed: true })];
    expect(encodeWakes(wakes).map(parseHint)).toEqual([{ kind: 'wakes', wakes: wakes.map(told) }]);
    expect(encodeWakes(wakes, 'u').map(parseHint)).toEqual([
      { kind: 'passed', wakes: wakes.map((each) => ({ ...told(each), refused: true })) },
    ]);
    expect(parseHint('w[[1,0,"a",1,0,0]]')).toMatchObject({
      wakes: [{ epoch: 0, groupNumber: 0 }],
    });
    expect(encodeAborts([1, id]).map(parseHint)).toEqual([{ kind: 'abort', ids: [1, id] }]);
    const vacant = [
      { name: 'a', group: null },
      { name: 'b', group: 'g' },
    ];
    expect(encodeVacant(vacant).map(parseHint)).toEqual([
      {
        kind: 'vacant',
        of: [
          { name: 'a', groupNumber: null },
          { name: 'b', groupNumber: groupNumber('g') },
        ],
      },
    ]);
    expect(parseHint(nodesHint('web-1'))).toEqual({ kind: 'nodes', came: 'web-1' });
    expect(parseHint(nodesHint())).toEqual({ kind: 'nodes' });
    expect(parseHint(probeHint('42'))).toEqual({ kind: 'probe', nonce: '42' });
    expect(encodeWakes([])).toEqual([]);
  });

  it('of many wakes is cut into texts that NOTIFY takes', () => {
    const wakes = Array.from({ length: 300 }, (_, n) => wake(2 ** 52 + n, { name: 'ü'.repeat(n) }));
    const texts = encodeWakes(wakes);
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(8_000);
    const hints = texts.map((text) => parseHint(text) as { wakes: HintedWake[] });
    expect(hints.flatMap((hint) => hint.wakes)).toEqual(wakes.map(told));
  });

  it('of so many that a text holds exactly fills that text, and the next one', () => {
    const texts = encodeAborts(Array.from({ length: 2 * 3_949 }, () => 7));
    expect(texts.map((text) => text.length)).toEqual([7_900, 7_900]);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'w{'],
    ['an id that is a fraction', 'w[[1.5,0,"a",1]]'],
    // It would fail the whole claim in which it travels: 22P02.
    ['an epoch that is a fraction', 'w[[1,1.5,"a",1]]'],
    ['a negative epoch', 'w[[1,-1,"a",1]]'],
    ['an id that no row has', 'w[[0,0,"a",1]]'],
    ['a name that is none', 'w[[1,0,1,1]]'],
    ['a time that is none', 'w[[1,0,"a",null]]'],
    ['a time beyond all numbers', 'w[[1,0,"a",1e999]]'],
    ['a group by its text', 'w[[1,0,"a",1,0,"g"]]'],
    ['a number of a group that is none', 'w[[1,0,"a",1,0,-1]]'],
    ['a place of a group by its text', 'v[["a","g"]]'],
    ['a deep one', `w${'['.repeat(20_000)}`],
    ['a wake that is a text', 'w["1,0"]'],
    ['a wake that is nothing', 'w[null]'],
    ['one bad among good', 'w[[1,0,"a",1],[2]]'],
    ['an abort of nothing', 'a{}'],
    ['an abort of a claim, which is a wish', 'a[[1,0]]'],
    ['an abort of an id that no row has', 'a[0]'],
    ['a place of no name', 'v[[7]]'],
    ['a place that is a text', 'v["ab"]'],
  ])('from a stranger is ignored: %s', (_, text) => {
    expect(parseHint(text)).toBeUndefined();
  });
});

it.each([0, 1, 2, 3, 4, 5, 6, 7])(
  'what comes while a round ends, %d microtasks after its answer, is sent',
  async (microtasks) => {
    const sent: string[] = [];
    const answer = signal();
    const runner = {
      query: <Row>(_sql: string, [, texts]: unknown[]): Promise<Row[]> => {
        sent.push(String(texts));
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
