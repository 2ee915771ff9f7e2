import { expect, it } from '@jest/globals';
import { OneNode } from '../support/one-node.js';
import { OtherNode, runnerOn } from '../support/other-node.js';
import { RerunStore } from '../support/engine-parts.js';

/** Writes about one key in any order, beside what the store says: a model of a few lines. */
const NAME = 'test.model';
const KEY = 'k';
const node = new OneNode({ options: { worker: false } });

interface Model {
  row: { payload: number; state: 'waits' | 'runs' | 'dead'; scheduled: number } | null;
  kept: number | null;
}

const ACTS = [
  'schedule',
  'rerun',
  'rerun',
  'debounce',
  'cancel',
  'claim',
  'complete',
  'fail',
  'die',
  'place',
  'place',
] as const;
type Act = (typeof ACTS)[number];

/** How some programs begin: what comes together too seldom by chance. */
const BEGINNINGS: readonly (readonly Act[])[] = [
  ['schedule', 'claim', 'rerun', 'complete', 'schedule', 'claim', 'die', 'place'],
  ['schedule', 'claim', 'rerun', 'fail', 'cancel', 'place'],
  ['schedule', 'claim', 'rerun', 'complete', 'schedule', 'cancel', 'place'],
];

/** What it answers, and what it makes of the model. */
function foresee(act: Act, n: number, model: Model): string | null {
  const { row, kept } = model;
  switch (act) {
    case 'schedule':
    case 'rerun':
    case 'debounce':
      if (row?.state === 'runs') {
        if (act === 'schedule') return 'running';
        model.kept = n;
        return 'rerun';
      }
      model.row = { payload: n, state: 'waits', scheduled: n };
      if (act === 'debounce' && row?.state === 'waits') model.kept = null;
      return row?.state === 'waits' ? 'replaced' : 'scheduled';
    case 'cancel':
      model.kept = null;
      if (row?.state === 'runs') return 'running';
      model.row = null;
      return row === null && kept === null ? 'absent' : 'cancelled';
    case 'claim':
      if (row?.state === 'waits') row.state = 'runs';
      return null;
    case 'complete':
      if (row?.state === 'runs') model.row = null;
      return null;
    case 'fail':
    case 'die':
      if (row?.state === 'runs') model.row = { ...row, state: act === 'die' ? 'dead' : 'waits' };
      return null;
    case 'place':
      if (kept === null || row?.state === 'runs') break;
      if (row === null || row.scheduled < kept)
        model.row = { payload: kept, state: 'waits', scheduled: n };
      else if (row.state === 'dead') model.row = { ...row, state: 'waits', scheduled: n };
      model.kept = null;
  }
  return null;
}

it.each(Array.from({ length: 60 }, (_, index) => index))('as the model says, %i', async (index) => {
  const other = new OtherNode(node.dataSource.manager);
  const runner = runnerOn(node.dataSource.manager);
  const store = new RerunStore('delay_queue', 'ends');
  const model: Model = { row: null, kept: null };
  let claim: { id: number; epoch: number } | undefined;
  const told: string[] = [];
  const once = async (act: Act, n: number): Promise<string | null> => {
    const { delays } = node;
    const options = { key: KEY, after: 0 } as const;
    const manager = Math.random() < 0.5 ? await node.begin() : undefined;
    const its = { manager: manager?.manager };
    try {
      if (act === 'schedule')
        return (await delays.schedule(NAME, n, { ...options, ...its })).verdict;
      if (act === 'rerun' || act === 'debounce') {
        const maxWait = act === 'debounce' ? { maxWait: '1h' } : {};
        const given = { ...options, ...maxWait, ...its, running: 'rerun' } as const;
        return (await delays.schedule(NAME, n, given)).verdict;
      }
      if (act === 'cancel') return (await delays.cancel(NAME, KEY, its)).verdict;
    } finally {
      await manager?.commit();
    }
    const found = await delays.find(NAME, KEY);
    if (act === 'claim' && found?.state !== 'dead' && claim === undefined && found) {
      claim = await other.claim(found.id);
    } else if (claim !== undefined && act !== 'claim' && act !== 'place') {
      const { id, epoch } = claim;
      if (act === 'complete') await other.store.complete([{ id, epoch, latenessMs: 0 }]);
      else {
        const waitMs = act === 'die' ? null : 0;
        const retry = {
          waitMs,
          movesDue: false,
          refund: 0,
          ends: 'failed',
          error: 'Error: no',
        } as const;
        await other.store.retry([{ id, epoch, ...retry }]);
      }
      claim = undefined;
    }
    if (act === 'place') {
      for (const rerun of await store.all(runner, 10))
        if (rerun.isOver) await store.place(runner, rerun);
    }
    return null;
  };
  for (let n = 0; n < 25; n += 1) {
    const chance = ACTS[Math.floor(Math.random() * ACTS.length)] as Act;
    const act = BEGINNINGS[index % 10]?.[n] ?? chance;
    const verdict = foresee(act, n, model);
    told.push(act);
    expect([told, await once(act, n)]).toEqual([told, verdict]);
    const [kept] = await node.sql<{ payload: number }>('SELECT payload FROM delay_queue.rerun');
    const row = await node.delays.find(NAME, KEY);
    expect([told, row?.payload ?? null, kept?.payload ?? null]).toEqual([
      told,
      model.row?.payload ?? null,
      model.kept,
    ]);
  }
});
