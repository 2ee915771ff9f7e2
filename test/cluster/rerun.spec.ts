import { expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';

const cluster = new Cluster();

/** Of a fenced attempt nothing ends by its time: only so it holds its row until its process dies. */
const FOREVER = { options: { lease: '30m', timeout: '30m' } } as const;

it.each([
  ['test.plain', { options: { lease: '5s', timeout: '60s' } }],
  ['test.fenced', FOREVER],
] as const)(
  'a key of %s whose process is killed while it runs runs once more, with what came meanwhile',
  async (name, setup) => {
    const fenced = name === 'test.fenced';
    const held = { does: 'hold', fenced } as const;
    const victim = await cluster.worker('victim', { [name]: held }, setup);
    await cluster.held(victim, name);
    await cluster.worker('heir', { [name]: { does: 'note', fenced } }, setup);
    const { delays } = await cluster.producer();
    const asked = await delays.schedule(name, null, { key: name, after: 0, running: 'rerun' });
    expect(asked.verdict).toBe('rerun');
    expect(await delays.find(name, name)).toMatchObject({ state: 'running', rerunAt: asked.dueAt });
    await victim.kill('SIGKILL');
    const [line] = await cluster.until<{ node: string; attempt: number }>(
      'SELECT node, attempt FROM ledger WHERE due = $1',
      ({ length }) => length > 0,
      [asked.dueAt],
    );
    expect(line).toEqual({ node: 'heir', attempt: 1 });
    await cluster.until<{ left: string }>(
      'SELECT (SELECT count(*) FROM delay_queue.delay) + (SELECT count(*) FROM delay_queue.rerun) AS left',
      ([row]) => row?.left === '0',
    );
    expect((await cluster.timesDone(name)).get(name)).toBeLessThanOrEqual(2);
  },
);
