import { describe, expect, it } from '@jest/globals';
import { TestedNode } from './support/tested.js';

const MINUTE_MS = 60_000;
const RATE = { rateLimit: { max: 1, per: '10m' } } as const;

/** What limits and pauses hold back while time passes in a test. */
const node = new TestedNode(
  {
    'test.rate': { global: RATE },
    'test.group': { perGroup: RATE },
    'test.one': { global: { concurrency: 1 } },
    'test.free': {},
  },
  // No load tells of anything in the meantime.
  { horizon: '1h', loadEvery: '59m' },
);

const when = (runs: readonly { key: string | null; travelledMs: number }[]) =>
  runs.map(({ key, travelledMs }) => `${key} at ${Math.round(travelledMs / MINUTE_MS)}m`);

describe('time that passes in a test', () => {
  it('fills a rate limit, so that what it holds back runs at its pace', async () => {
    const item = { name: 'test.rate', payload: null, after: '1h' } as const;
    await node.delays.scheduleMany(['a', 'b', 'c', 'd'].map((key) => ({ ...item, key })));
    expect(when(await node.testing.advance('85m'))).toEqual(['a at 60m', 'b at 70m', 'c at 80m']);
    expect(await node.testing.drain()).toEqual([]);
    expect(when(await node.testing.advance('1h'))).toEqual(['d at 5m']);
  });

  it('leaves other names and groups alone while a limit holds one back', async () => {
    for (const key of ['a1', 'a2']) await node.schedule('test.group', key, '1h', { group: 'a' });
    await node.schedule('test.group', 'b1', '65m', { group: 'b' });
    await node.schedule('test.free', 'other', '67m');
    expect(when(await node.testing.advance('2h'))).toEqual([
      'a1 at 60m',
      'b1 at 65m',
      'other at 67m',
      'a2 at 70m',
    ]);
  });

  it('runs with drain all that is due under a limit of how many run at a time', async () => {
    for (const key of ['a', 'b', 'c']) await node.schedule('test.one', key, 0);
    const ran = when(await node.testing.drain());
    expect(new Set(ran)).toEqual(new Set(['a at 0m', 'b at 0m', 'c at 0m']));
  });

  it('ends a pause, and not before; one without an end resume ends', async () => {
    const { admin, testing } = node;
    await admin.pause('test.free', { for: '2h' });
    await admin.pause('test.group', { group: 'shop' });
    await node.schedule('test.free', 'a', '1h');
    await node.schedule('test.group', 'shop', '1h', { group: 'shop' });
    expect(await testing.advance('90m')).toEqual([]);
    expect(await testing.drain()).toEqual([]);
    await expect(testing.fire('test.free', 'a')).rejects.toThrow('did not start: it is paused');
    expect(when(await testing.advance('9d'))).toEqual(['a at 30m']);
    expect(await admin.resume('test.free')).toBeNull();
    await admin.resume('test.group', { group: 'shop' });
    expect(when(await testing.drain())).toEqual(['shop at 0m']);
  });
});
