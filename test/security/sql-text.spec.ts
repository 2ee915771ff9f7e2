import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayConflictError, DiscardDelay } from 'nestjs-delay-queue';
import { Stage } from '../integration/engine/support/stage.js';
import { fencedHandler, plainHandler } from '../support/delay-node.js';
import { clientTelling } from '../support/sent-statements.js';

/** What stands in every value that travels, and must never stand in the text of a statement. */
const MARK = 'mark4711';
const FRAGMENT = `${MARK}'"; DROP SCHEMA delay_queue CASCADE; SELECT pg_sleep(60); -- $1 \\`;
const NAME = `test.${MARK}` as const;
const FENCED = `test.fenced.${MARK}` as const;

let stage: Stage;
const sent: { text: string; carriesMark: boolean }[] = [];

beforeEach(async () => {
  stage = await Stage.open();
  sent.length = 0;
});

afterEach(() => stage.close());

const Client = clientTelling((text, _, all) => {
  sent.push({ text, carriesMark: JSON.stringify(all).includes(MARK) });
});

it('no name, key, payload, error or node ever joins the text of a statement', async () => {
  let failures = 0;
  const node = await stage.start({
    Client,
    options: { nodeName: `${MARK} '; --` },
    providers: [
      plainHandler(NAME, () => {
        throw new DiscardDelay(FRAGMENT);
      }),
      fencedHandler(
        FENCED,
        async ({ payload, key }, { manager }) => {
          failures += 1;
          if (failures === 1) throw new Error(FRAGMENT);
          await node.delays.schedule('test.inner', payload, {
            after: '1h',
            key: `in ${key}`,
            manager,
          });
        },
        { maxAttempts: 2, backoff: () => 1 },
      ),
    ],
  });
  const { delays, dataSource } = node;
  const key = FRAGMENT;
  const ended = (event: 'dead' | 'completed', of: string) =>
    node.next(event, ({ name }) => name === of);
  const ends = [ended('dead', NAME), ended('completed', FENCED)];
  await delays.schedule(NAME, { [FRAGMENT]: FRAGMENT }, { after: 0, key });
  await delays.schedule(FENCED, FRAGMENT, { after: 0, key });
  await Promise.all(ends);
  const payload = { [FRAGMENT]: FRAGMENT };
  const found = { state: 'dead', key, payload, lastError: FRAGMENT };
  expect(await delays.find(NAME, key)).toMatchObject(found);
  await dataSource.transaction(async (manager) => {
    const item = { name: 'test.many' as const, payload: FRAGMENT, key, after: '1h' as const };
    await delays.scheduleMany([item, { ...item, key: `${key}2` }], { manager });
    await delays.schedule('test.many', FRAGMENT, { after: '2h', key, manager });
    await delays.reschedule('test.many', key, { extendBy: 1 }, { manager });
  });
  const conflict = delays.schedule('test.many', 1, { after: 1, key, onConflict: 'error' });
  await expect(conflict).rejects.toThrow(DelayConflictError);
  const dead = node.next('dead');
  await delays.retryDead(NAME, key);
  await dead;
  await delays.cancel(NAME, key);
  expect(await delays.history(NAME, key)).toMatchObject([{ state: 'discarded', error: FRAGMENT }]);
  await node.stop();

  // The fragment has travelled with a great many statements, always as a value.
  expect(sent.filter(({ carriesMark }) => carriesMark).length).toBeGreaterThan(20);
  expect(sent.filter(({ text }) => text.includes(MARK))).toEqual([]);
});
