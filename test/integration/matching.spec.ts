import { describe, expect, it } from '@jest/globals';
import type {
  ChangedDelay,
  DelayFilter,
  DelayInfo,
  DelayRecord,
  HistoryFilter,
  HistoryPage,
  StoryFilter,
} from 'nestjs-delay-queue';
import { OneNode } from '../support/one-node.js';

/** `DelayAdmin` by filters: what matches, page by page, and what becomes of it. */
const HOUR_MS = 3_600_000;
const inHours = (hours: number): Date => new Date(Date.UTC(2040, 0, 1) + hours * HOUR_MS);

const node = new OneNode({ options: { worker: false } });

/** Rows as they are after a while: no handler runs here, so states are written. */
async function fill(): Promise<void> {
  await node.sql(
    `INSERT INTO delay_queue.delay
       (name, key, due_at, wake_at, created_at, attempts, leased_until, leased_by, last_error, payload,
        headers, group_id)
     VALUES
       ('order.close', 'shop-1/a', $1, $1, now(), 0, NULL, NULL, NULL, '{"n":1}',
         '{"campaign":"autumn","lang":"de"}', 'eu-1'),
       ('order.close', 'shop-1/b', $2, $2, now(), 1, NULL, NULL, 'Error: no answer', '{"n":2}',
         '{"campaign":"autumn"}', 'eu-10'),
       ('order.close', 'shop-2/a', $3, $3, now(), 1, now() + interval '1 day', 'other', NULL, '{"n":3}',
         '{"lang":"autumn","campaign":""}', 'eu'),
       ('order.close', 'shop-2/b', $1, 'infinity', now(), 3, NULL, NULL, 'ECONNREFUSED', '{"n":4}', NULL, 'eu_1'),
       ('order.rate',  'shop-1/a', $2, $2, now(), 0, NULL, NULL, NULL, '{"n":5}',
         '{"lang":"de","campaign":"autumn","a \\"b\\" ü":"c"}', 'us-1'),
       ('order.rate',  NULL,       $3, 'infinity', now(), 3, NULL, NULL, '100% of_it', '{"n":6}', NULL, NULL)`,
    [inHours(1), inHours(2), inHours(3)],
  );
}

const FILTERS: [filter: DelayFilter, matches: number[]][] = [
  [{}, [1, 2, 3, 4, 5, 6]],
  [{ name: 'order.close' }, [1, 2, 3, 4]],
  [{ name: ['order.close', 'order.rate'], key: 'shop-1/a' }, [1, 5]],
  [{ key: 'shop-1/a' }, [1, 5]],
  [{ keyPrefix: 'shop-1/' }, [1, 2, 5]],
  [{ keyPrefix: 'shop%' }, []],
  [{ group: 'eu-1' }, [1]],
  [{ group: ['eu_1', 'eu-1', 'none'] }, [1, 4]],
  [{ groupPrefix: 'eu-1' }, [1, 2]],
  [{ groupPrefix: 'eu_' }, [4]],
  [{ groupPrefix: 'e%' }, []],
  [{ groupPrefix: 'eu', state: 'dead' }, [4]],
  [{ errorLine: '100% of_it' }, [6]],
  [{ errorLine: 'ECONN' }, []],
  [{ errorLine: '', name: 'order.rate' }, [5]],
  [{ headers: { campaign: 'autumn' } }, [1, 2, 5]],
  [{ headers: { campaign: 'autumn', lang: 'de' } }, [1, 5]],
  [{ headers: { campaign: 'aut' } }, []],
  [{ headers: { campaign: '' } }, [3]],
  [{ headers: { 'a "b" ü': 'c' } }, [5]],
  [{ name: 'order.close', headers: { campaign: 'autumn' }, dueBefore: inHours(2) }, [1]],
  [{ state: 'scheduled' }, [1, 5]],
  [{ state: 'retrying' }, [2]],
  [{ state: 'running' }, [3]],
  [{ state: 'dead' }, [4, 6]],
  [{ state: ['dead', 'retrying'] }, [2, 4, 6]],
  [{ dueFrom: inHours(2) }, [2, 3, 5, 6]],
  [{ dueBefore: inHours(2) }, [1, 4]],
  [{ error: 'econn' }, [4]],
  [{ error: '% of_' }, [6]],
  [{ name: 'order.close', keyPrefix: 'shop-', state: 'dead', error: 'REFUSED' }, [4]],
];

describe.each(FILTERS)('%j', (filter, matches) => {
  const numbers = async () =>
    (await node.admin.list(filter)).map(({ payload }) => (payload as { n: number }).n);

  it('lists, counts and cancels the same delays', async () => {
    await fill();
    expect(await numbers()).toEqual(matches);
    expect(await node.admin.count(filter)).toBe(matches.length);
    if (Object.keys(filter).length === 0) return;
    const running = matches.filter((number) => number === 3).length;
    expect(await node.admin.cancel(filter)).toEqual({
      matched: matches.length,
      cancelled: matches.length - running,
      running,
    });
    expect(await numbers()).toEqual(running === 0 ? [] : [3]);
    expect(await node.admin.count({})).toBe(6 - matches.length + running);
  });
});

it('finds delays by their ids', async () => {
  await fill();
  const all = (await node.admin.list({})).map(({ id }) => id);
  const [first = '', , third = ''] = all;
  const ids = async (filter: DelayFilter) => (await node.admin.list(filter)).map(({ id }) => id);
  expect(await ids({ id: first })).toEqual([first]);
  expect(await ids({ id: [third, first, '999999'] })).toEqual([first, third]);
  expect(await ids({ id: all, state: 'running' })).toEqual([third]);
});

const idsOf = (all: readonly { id: string }[]): string[] => all.map(({ id }) => id).toSorted();

async function allEnded(): Promise<void> {
  await fill();
  await node.sql('UPDATE delay_queue.delay SET leased_until = NULL, leased_by = NULL');
  await node.admin.cancel({ dueFrom: new Date(0) });
}

/** Instants of lines that ended in one statement are the same. */
describe('over the past, too', () => {
  const past = FILTERS.flatMap(([{ state, repeating, ...rest }]): [StoryFilter][] =>
    (state ?? repeating) === undefined ? [[rest]] : [],
  );

  it.each(past)('%j finds the same when it has ended', async (filter) => {
    await fill();
    const live = idsOf(await node.admin.list(filter));
    await node.sql('UPDATE delay_queue.delay SET leased_until = NULL, leased_by = NULL');
    await node.admin.cancel({ dueFrom: new Date(0) });
    const { history, next } = await node.admin.history(filter);
    expect([idsOf(history), next]).toEqual([live, null]);
    if (Object.keys(filter).length === 0) return;
    const story = await node.admin.story(filter);
    expect([idsOf(story.history), story.delays, story.next]).toEqual([live, [], null]);
  });

  it.each([
    [{ state: 'discarded' }, 2],
    [{ state: ['cancelled', 'completed'], group: 'eu-1' }, 1],
    [{ endedFrom: new Date(0) }, 6],
    [{ endedFrom: new Date('2100-01-01') }, 0],
    [{ endedBefore: new Date('2100-01-01'), headers: { campaign: 'autumn' } }, 3],
    [{ endedBefore: new Date(0) }, 0],
  ] as [HistoryFilter, number][])('history of %j', async (filter, count) => {
    await allEnded();
    expect((await node.admin.history(filter)).history).toHaveLength(count);
  });

  it('pages of a story reach what lives and what has ended, each once, in their order', async () => {
    const group = 'customer-7';
    await node.delays.scheduleMany(
      Array.from({ length: 40 }, (_, n) => ({
        name: 'test.later' as const,
        payload: null,
        key: `k${n}`,
        after: '1h' as const,
        group: n % 4 === 3 ? 'customer-8' : group,
      })),
    );
    const all = idsOf(await node.admin.list({ group }));
    // A page that is exactly full, and nothing has ended behind it.
    const { delays, next } = await node.admin.story({ group }, { limit: all.length });
    expect([idsOf(delays), next]).toEqual([all, null]);
    // Some of them at one instant: their line is told apart by its id.
    await node.admin.cancel({ group, key: 'k0' });
    await node.admin.cancel({ group, keyPrefix: 'k1' });
    await node.admin.cancel({ group, keyPrefix: 'k2' });
    for (const limit of [1, 2, 3, 7, 10, 15, 29, 30, 31, 1_000]) {
      const [live, ended]: [DelayInfo[], DelayRecord[]] = [[], []];
      let after: string | undefined;
      do {
        const page = await node.admin.story({ group }, { limit, ...(after && { after }) });
        const size = page.delays.length + page.history.length;
        expect(size).toBe(page.next === null ? size : limit);
        expect(page.delays.length > 0 && ended.length > 0).toBe(false);
        live.push(...page.delays);
        ended.push(...page.history);
        after = page.next ?? undefined;
      } while (after !== undefined);
      expect(idsOf([...live, ...ended])).toEqual(all);
      expect(live.map(({ id }) => Number(id))).toEqual(
        live.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
      );
      const ends = ended.map(({ endedAt }) => Number(endedAt));
      expect(ends).toEqual(ends.toSorted((a, b) => b - a));
    }
  });

  it('of a delay that recurs each occurrence is on one page', async () => {
    await node.sql(
      `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, group_id)
       SELECT 1, timestamptz '2026-01-01 00:00:00.000001+00', now(), now(), n, n, 'completed', 'test.later', 'g'
       FROM generate_series(1, 9) n`,
    );
    const seen: number[] = [];
    for (let after: string | null | undefined; after !== null;) {
      const page: HistoryPage = await node.admin.history(
        { group: 'g' },
        { limit: 2, ...(after && { after }) },
      );
      seen.push(...page.history.map(({ attempts }) => attempts));
      after = page.next;
    }
    expect(seen).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  it.each([
    ['story', {}, {}, 'filter'],
    ['story', 'x'.repeat(256), {}, 'key'],
    ['story', { state: 'dead' }, {}, 'filter.state'],
    ['history', { state: 'dead' }, {}, 'filter.state'],
    ['history', { repeating: true }, {}, 'filter.repeating'],
    ['history', { endedFrom: '2026' }, {}, 'filter.endedFrom'],
    ['history', {}, { limit: 0 }, 'limit'],
    ['history', {}, { after: '17' }, 'after'],
    ['history', {}, { after: 'live 3' }, 'after'],
    ['story', { key: 'k' }, { after: 'live 3; DROP' }, 'after'],
  ] as const)('%s(%j, %j) is refused', async (call, filter, page, field) => {
    await expect(node.admin[call](filter as never, page)).rejects.toMatchObject({ field });
  });
});

describe('by a filter', () => {
  it.each([
    [
      'reschedule',
      () => node.admin.reschedule({ name: 'order.close' }, { at: inHours(9) }),
      { matched: 3, rescheduled: 2, running: 1 },
    ],
    [
      'runNow',
      () => node.admin.runNow({ name: 'order.close' }),
      { matched: 3, due: 2, running: 1 },
    ],
    ['retryDead', () => node.admin.retryDead({ name: 'order.close' }), { matched: 1, retried: 1 }],
    [
      'discardDead',
      () => node.admin.discardDead({ name: 'order.close' }),
      { matched: 1, discarded: 1 },
    ],
  ])('%s leaves out what it is not for', async (_verb, call, counts) => {
    await fill();
    expect(await call()).toEqual(counts);
  });

  it.each([
    ['an empty one', {}, 'filter'],
    ['no filter', null, 'filter'],
    ['an unknown field', { nmae: 'a' }, 'filter.nmae'],
    ['a bad name', { name: 'a b' }, 'filter.name'],
    ['no names', { name: [] }, 'filter.name'],
    ['an unknown state', { state: 'done' }, 'filter.state'],
    ['a key that is a number', { key: 1 }, 'filter.key'],
    ['an empty prefix', { keyPrefix: '' }, 'filter.keyPrefix'],
    ['an empty prefix of groups', { groupPrefix: '' }, 'filter.groupPrefix'],
    ['no groups', { group: [] }, 'filter.group'],
    ['too many groups', { group: Array.from({ length: 101 }, String) }, 'filter.group'],
    ['a prefix that no group has', { groupPrefix: 'x'.repeat(256) }, 'filter.groupPrefix'],
    ['an id that is none', { id: 'a' }, 'filter.id'],
    ['no ids', { id: [] }, 'filter.id'],
    ['too many ids', { id: Array.from({ length: 1_001 }, () => '1') }, 'filter.id'],
    ['no headers', { headers: {} }, 'filter.headers'],
    ['headers in a list', { headers: ['autumn'] }, 'filter.headers'],
    ['a header that is no text', { headers: { campaign: 7 } }, 'filter.headers.campaign'],
    ['a day in words', { dueFrom: 'today' }, 'filter.dueFrom'],
    ['a long first line', { errorLine: 'x'.repeat(201) }, 'filter.errorLine'],
    ['an empty error', { error: '' }, 'filter.error'],
  ])('refuses %s', async (_what, filter, field) => {
    await expect(node.admin.cancel(filter as DelayFilter)).rejects.toMatchObject({ field });
  });

  it.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 1_001 }, 'limit'],
    [{ after: 'x' }, 'after'],
    [{ page: 2 }, 'options.page'],
  ])('refuses a page of %j', async (page, field) => {
    await expect(node.admin.list({}, page as object)).rejects.toMatchObject({ field });
  });
});

const many = (count: number) =>
  node.delays.scheduleMany(
    Array.from({ length: count }, (_, index) => ({
      name: 'order.close' as const,
      payload: { orderId: `${index}` },
      key: `k${index}`,
      at: inHours(1),
    })),
  );

describe('of many', () => {
  const KEYS = { name: 'order.close', keyPrefix: 'k' } as const;

  it('pages reach each once, whatever is removed between them', async () => {
    await many(25);
    const seen: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await node.admin.list(KEYS, { limit: 7, ...(after && { after }) });
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1)?.id;
      await node.admin.cancel([{ id: page[0]!.id }]);
    }
    expect(new Set(seen).size).toBe(25);
    expect(seen).toHaveLength(25);
  });

  it('tells how far it is, and ends when it is told to', async () => {
    await many(2_100);
    const controller = new AbortController();
    const told: number[] = [];
    const listed: ChangedDelay[] = [];
    const ended = node.admin.cancel(KEYS, {
      signal: controller.signal,
      onProgress: ({ cancelled }, changed) => {
        told.push(cancelled);
        listed.push(...changed);
        if (told.length === 2) controller.abort();
      },
    });
    await expect(ended).rejects.toThrow('aborted');
    expect(told).toEqual([1_000, 2_000]);
    const { id, ...first } = listed[0]!;
    expect(first).toEqual({ name: 'order.close', key: 'k0', verdict: 'cancelled' });
    expect(new Set(listed.map((one) => one.id)).size).toBe(2_000);
    const { history } = await node.admin.history({ key: 'k0' });
    expect(history).toMatchObject([{ id }]);
    expect(await node.admin.count(KEYS)).toBe(100);
  });

  it('moves each once, in one transaction with its caller', async () => {
    await many(1_100);
    const { manager, rollback } = await node.begin();
    const counts = await node.admin.reschedule(KEYS, { extendBy: '1h' }, { manager });
    expect(counts).toEqual({ matched: 1_100, rescheduled: 1_100, running: 0 });
    expect(await node.admin.count({ ...KEYS, dueFrom: inHours(2) }, { manager })).toBe(1_100);
    expect(await node.admin.count({ ...KEYS, dueFrom: inHours(3) }, { manager })).toBe(0);
    await rollback();
    expect(await node.admin.count({ ...KEYS, dueFrom: inHours(2) })).toBe(0);
  });

  it('leaves out what has moved away while it waited for the row', async () => {
    await many(9);
    const { manager, blocksSomebody, commit } = await node.begin();
    await node.delays.reschedule('order.close', 'k7', { at: inHours(8) }, { manager });
    const cancelling = node.admin.cancel({ ...KEYS, dueBefore: inHours(2) });
    await blocksSomebody();
    await commit();
    expect(await cancelling).toEqual({ matched: 8, cancelled: 8, running: 0 });
    expect(await node.admin.list(KEYS)).toMatchObject([{ key: 'k7' }]);
  });
});
