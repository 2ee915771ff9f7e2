import { describe, expect, it } from '@jest/globals';
import { oneDashboard } from '../../support/one-dashboard.js';
import { PLANTED } from './support/planted-rows.js';
import { grantOf, viewer } from './support/viewers.js';
import type {
  DeadView,
  DelayView,
  NameChoice,
  Overview,
  SearchPage,
  StoryView,
} from '../../support/dashboard-parts.js';

const dashboard = oneDashboard(
  {
    dashboard: { authorize: grantOf },
  },
  PLANTED,
);

const overviewOf = async (who: Record<string, string> = {}): Promise<Overview> =>
  (await dashboard.get<Overview>('api/overview', who)).body;

const exact = (count: number) => ({ count, is: 'exact' });

describe('the overview', () => {
  it('counts what is planted, by name', async () => {
    const { names, due, nodes, health } = await overviewOf();
    expect(names.map(({ name }) => name)).toEqual(['eu', 'mail', 'order.close', 'order.rate']);
    expect(names).toMatchObject([
      { live: exact(1), completed: exact(0) },
      {
        live: exact(2),
        dead: exact(2),
        completed: exact(1),
        // Of what completed, and of each of the dead letters.
        retries: 2 + 2 * 2,
        latenessMs: { p50: 1, p95: 1, p99: 1 },
      },
      { live: exact(3), running: exact(1), retrying: exact(1), late: exact(0) },
      { live: exact(1) },
    ]);
    expect(due.hour.counts).toHaveLength(60);
    expect(due.day.counts.slice(0, 4)).toEqual([1, 1, 1, 0]);
    expect(due.day.atLeast).not.toContain(true);
    expect([nodes?.length, health?.status]).toEqual([0, expect.any(String)]);
  });

  it("holds what is not the viewer's", async () => {
    const ofName = await overviewOf(viewer({ names: ['order.close', 'none'] }));
    expect(ofName.names).toMatchObject([
      { name: 'none', live: exact(0) },
      { name: 'order.close', live: exact(3) },
    ]);
    expect(ofName).toMatchObject({ health: null, nodes: null });
    expect(ofName.due.day.counts.slice(0, 4)).toEqual([1, 0, 1, 0]);
    const ofGroup = await overviewOf(viewer({ groups: ['us'] }));
    expect(ofGroup.names.map(({ name, live }) => [name, live.count])).toEqual([
      ['mail', 0],
      ['order.close', 1],
      ['order.rate', 1],
    ]);
  });
});

it('dead letters that failed alike are found by their search, and no others', async () => {
  const { body } = await dashboard.get<DeadView>('api/dead');
  expect(body.groups.map(({ error, count }) => [error, count])).toEqual([
    [null, exact(1)],
    [String.raw`Error: 100% "odd" \_ more`, exact(1)],
  ]);
  for (const { search, sampleId } of body.groups) {
    const { state, ...texts } = search;
    const query = new URLSearchParams({ ...texts, state: String(state) });
    const found = await dashboard.get<SearchPage>(`api/search?${query.toString()}`);
    expect(found.body.delays.map(({ id }) => id)).toEqual([sampleId]);
  }
  const none = await dashboard.get<DeadView>('api/dead', viewer({ names: ['order.close'] }));
  expect(none.body.groups).toEqual([]);
});

describe('one delay', () => {
  it('shows a payload to the digit, to those who may see it', async () => {
    const { body } = await dashboard.get<DelayView>('api/delay?id=1');
    expect(body.payload).toEqual({ is: 'shown', json: '{"n": 12345678901234567890}' });
    expect(body).toMatchObject({ delay: { id: '1' }, explanation: { reason: 'notDue' } });
    const hidden = await dashboard.get<DelayView>('api/delay?id=1', viewer({ actions: ['view'] }));
    expect(hidden.body.payload).toEqual({ is: 'hidden' });
  });

  it('may have ended', async () => {
    const { body } = await dashboard.get<DelayView>('api/delay?id=12');
    expect(body).toMatchObject({
      delay: { id: '12', state: 'cancelled' },
      explanation: { reason: 'ended' },
      payload: { is: 'notKept' },
      by: 'ann',
    });
    const again = await dashboard.get<DelayView>(`api/delay?id=12&endedAt=${body.delay.endedAt}`);
    expect(again.body.delay).toEqual(body.delay);
  });

  it.each(['api/delay?id=4', 'api/delay?id=13', 'api/delay?id=999'])(
    'is absent for who may not see it: %s',
    async (path) => {
      const { status } = await dashboard.get(path, viewer({ groups: ['eu'] }));
      expect(status).toBe(404);
    },
  );
});

it('a key is one story across names and runs', async () => {
  const { body } = await dashboard.get<StoryView>('api/story?key=42');
  expect(body.delays.map(({ id }) => id)).toEqual(['1', '2', '11']);
  const part = await dashboard.get<StoryView>('api/story?key=42', viewer({ groups: ['eu'] }));
  expect(part.body.delays.map(({ id }) => id)).toEqual(['1', '11']);
});

it('names are those that the viewer may know of', async () => {
  const all = await dashboard.get<NameChoice[]>('api/names');
  expect(all.body.map(({ name }) => name)).toEqual(['eu', 'order.close', 'order.rate']);
  const some = await dashboard.get<NameChoice[]>('api/names', viewer({ groups: ['eu'] }));
  expect(some.body.map(({ name }) => name)).toEqual(['mail', 'order.close']);
});
