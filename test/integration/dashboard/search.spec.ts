import { describe, expect, it } from '@jest/globals';
import { oneDashboard } from '../../support/one-dashboard.js';
import { PLANTED } from './support/planted-rows.js';
import { grantOf } from './support/viewers.js';
import type { DelayLine, Problem, SearchPage } from '../../support/dashboard-parts.js';

const dashboard = oneDashboard(
  {
    dashboard: { authorize: grantOf },
  },
  PLANTED,
);

const search = async (
  query: Record<string, string>,
  viewer: Record<string, string> = {},
): Promise<SearchPage> => {
  const path = `api/search?${new URLSearchParams(query).toString()}`;
  const { status, body } = await dashboard.get<SearchPage>(path, viewer);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body;
};

const idsOf = (delays: readonly DelayLine[]): number[] => delays.map(({ id }) => Number(id));

const LIVE = [4, 3, 2, 1, 7, 5, 6];

describe('a filter finds', () => {
  it.each<[query: Record<string, string>, ids: number[]]>([
    [{}, LIVE],
    [{ name: 'order.close' }, [4, 3, 1]],
    [{ name: 'mail' }, [5, 6]],
    [{ key: '42' }, [2, 1]],
    [{ keyPrefix: '4', group: 'us' }, [3, 2]],
    [{ group: 'eu' }, [1, 5, 6]],
    [{ state: 'dead' }, [6, 5]],
    [{ state: 'running' }, [4]],
    [{ state: 'retrying,scheduled' }, [3, 2, 1, 7]],
    [{ state: 'dead,discarded' }, [6, 5, 13]],
    [{ state: 'completed,cancelled' }, [14, 12, 11]],
    [{ state: 'completed', name: 'mail' }, [14]],
    [{ state: 'completed', key: '42' }, [11]],
    [{ endedFrom: '2020-01-01T00:00:00.000Z', group: 'eu' }, [12, 11]],
    [{ endedBefore: '2020-01-01T00:00:00.000Z' }, []],
    [{ dueBefore: '2020-01-01T00:00:00.000Z' }, []],
    [{ dueFrom: '2020-01-01T00:00:00.000Z', state: 'scheduled' }, [2, 1, 7]],
    [{ error: '"ODD" \\_' }, [3, 5]],
    [{ errorLine: 'Error: 100% "odd" \\_' }, [3]],
    [{ errorLine: '', state: 'dead' }, [6]],
    [{ header: 'lang:de' }, [2]],
    [{ id: '3' }, [3]],
    [{ id: '3', name: 'mail' }, []],
    [{ id: '12', state: 'cancelled' }, [12]],
  ])('%j', async (query, ids) => {
    const page = await search(query);
    expect(idsOf(page.delays)).toEqual(ids);
    expect(page).toMatchObject({
      meaning: null,
      next: null,
      stoppedAfter: null,
      count: { count: ids.length, is: 'exact' },
    });
    expect(await inPagesOf(1, query)).toEqual(ids);
  });
});

async function inPagesOf(limit: number, query: Record<string, string>): Promise<number[]> {
  const ids: number[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: SearchPage = await search({
      ...query,
      limit: String(limit),
      ...(after !== '' && { after }),
    });
    ids.push(...idsOf(page.delays));
    after = page.next;
  }
  return ids;
}

describe('one field', () => {
  it.each<[q: string, meaning: SearchPage['meaning'], ids: number[]]>([
    ['42', 'key', [2, 1, 11]],
    ['41', 'key', [12]],
    ['1', 'key', [7]],
    ['5', 'id', [5]],
    ['13', 'id', [13]],
    ['99', 'id', []],
    ['mail', 'name', [5, 6]],
    ['order.close', 'name', [4, 3, 1]],
    ['us', 'group', [3, 2]],
    ['none', 'name', []],
    ['no name', 'nothing', []],
    ['x'.repeat(300), 'nothing', []],
  ])('is %s as a %s', async (q, meaning, ids) => {
    const page = await search({ q });
    expect([page.meaning, idsOf(page.delays)]).toEqual([meaning, ids]);
    expect(await inPagesOf(1, { q })).toEqual(ids);
  });
});

describe('is invalid:', () => {
  it.each([
    [{ limit: '0' }, 'limit'],
    [{ limit: '201' }, 'limit'],
    [{ after: 'delay-walk filter 1' }, 'after'],
    [{ after: 'delay-walk filter 2026-13-01 00:00:00.000000 AD,1' }, 'after'],
    [{ after: "delay-walk filter ';" }, 'after'],
    [{ state: 'gone' }, 'state'],
    [{ id: 'x' }, 'id'],
    [{ header: 'x' }, 'header'],
    [{ dueFrom: 'today' }, 'dueFrom'],
    [{ key: '\0' }, 'key'],
    [{ error: 'x'.repeat(1_001) }, 'error'],
  ])('%j', async (query, field) => {
    const path = `api/search?${new URLSearchParams(query as Record<string, string>).toString()}`;
    const { status, body } = await dashboard.get<Problem>(path);
    expect({ status, body }).toMatchObject({ status: 400, body: { problem: 'invalid', field } });
  });
});
