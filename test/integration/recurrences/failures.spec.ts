import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DeadDelayContext,
  type Delay,
  DiscardDelay,
  OnDeadDelay,
  OnDelay,
  RepeatDelay,
} from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { OtherNode } from '../../support/other-node.js';
import { repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.fails';
const KEY = 'repeat';
const HOUR = 3_600_000;
const HOURLY = { every: '1h' } as const;

let stage: Stage;
let fails: () => void;
let node: DelayNode;
let regularMs: number;

beforeEach(async () => {
  stage = await Stage.open();
  fails = () => {
    throw new Error('no');
  };
});

afterEach(() => stage.close());

async function start(kind: 'plain' | 'fenced'): Promise<void> {
  const make = kind === 'plain' ? plainHandler : fencedHandler;
  const handler = make(NAME, () => fails(), { maxAttempts: 2 });
  node = await stage.start({ providers: [repeated(handler, NAME, HOURLY)] });
  regularMs = (await node.delays.find(NAME, KEY))!.dueAt.getTime();
}

/** Ran now by hand: it goes on with the first regular instant. */
async function goesOn(): Promise<void> {
  await node.admin.runNow([{ name: NAME, key: KEY }]);
  await until(
    () => node.delays.history(NAME, KEY),
    (lines) => lines.length > 0,
  );
  expect(await node.delays.find(NAME, KEY)).toMatchObject({
    state: 'scheduled',
    dueAt: new Date(regularMs),
    attempts: 0,
    lastError: null,
    repeat: { every: HOUR, catchUp: 'latest' },
  });
}

describe.each(['plain', 'fenced'] as const)('of a %s handler', (kind) => {
  beforeEach(() => start(kind));

  it('an occurrence whose attempts are exhausted is told as dead, and the next one comes', async () => {
    const dead = node.next('dead');
    await goesOn();
    expect(await dead).toMatchObject({ name: NAME, key: KEY, attempt: 2, error: 'Error: no' });
    expect(await node.delays.history(NAME, KEY)).toMatchObject([
      { state: 'discarded', attempts: 2, error: 'Error: no', latenessMs: null },
    ]);
  });

  it('one that is discarded ends as discarded, and the next one comes', async () => {
    fails = () => {
      throw new DiscardDelay('not today');
    };
    await goesOn();
    expect(await node.delays.history(NAME, KEY)).toMatchObject([
      { state: 'discarded', attempts: 1, error: 'not today' },
    ]);
  });

  it('one that fails once is tried again, and ends as completed', async () => {
    const failed = node.next('retrying');
    fails = () => {
      fails = () => {};
      throw new Error('once');
    };
    await goesOn();
    expect(await failed).toMatchObject({ attempt: 1 });
    expect(await node.delays.history(NAME, KEY)).toMatchObject([
      { state: 'completed', attempts: 2, error: null },
    ]);
  });
});

it('one whose process died at its last attempt is told as dead, and the next one comes', async () => {
  fails = () => {};
  await start('plain');
  await node.stop();
  const [row] = await stage.sql<{ id: string }>(
    `UPDATE delay_queue.delay SET due_at = clock_timestamp() - interval '1 min',
                                  wake_at = clock_timestamp() - interval '1 min', attempts = 1
     RETURNING id::text`,
  );
  const source = { query: (sql: string, parameters: unknown[]) => stage.sql(sql, parameters) };
  await new OtherNode(source as never).claimAndDie(row!.id);
  const handler = plainHandler(NAME, () => fails(), { maxAttempts: 2 });
  const ran: unknown[] = [];
  node = await stage.start({
    providers: [repeated(handler, NAME, HOURLY)],
  });
  node.events.on('started', (event) => ran.push(event));
  await until(
    () => node.delays.history(NAME, KEY),
    (lines) => lines.length > 0,
  );
  expect(await node.delays.history(NAME, KEY)).toMatchObject([
    {
      state: 'discarded',
      attempts: 2,
      node: 'other-node',
      error: expect.stringContaining('no attempt is left'),
    },
  ]);
  expect(await node.delays.find(NAME, KEY)).toMatchObject({
    state: 'scheduled',
    dueAt: new Date(regularMs),
    attempts: 0,
  });
  expect(ran).toEqual([]);
});

it('what nobody can read becomes a dead letter, and stands again at the next start', async () => {
  fails = () => {};
  await start('plain');
  await stage.sql(`UPDATE delay_queue.delay SET repeat = '{"cron": "?!", "catchUp": "each"}'`);
  await node.admin.runNow([{ name: NAME, key: KEY }]);
  await until(
    () => node.delays.find(NAME, KEY),
    (delay) => delay?.state === 'dead',
  );
  expect((await node.delays.find(NAME, KEY))?.lastError).toMatch(/nobody can read/);
  await node.stop();
  await start('plain');
  expect(await node.delays.find(NAME, KEY)).toMatchObject({
    state: 'scheduled',
    repeat: { every: HOUR, catchUp: 'latest' },
  });
});

it('its @OnDeadDelay is called in the transaction in which it goes on', async () => {
  await stage.sql('CREATE TABLE told (due timestamptz, error text)');
  class Dying {
    @RepeatDelay(NAME, { ...HOURLY, payload: null })
    @OnDelay(NAME, { maxAttempts: 1 })
    run(): void {
      fails();
    }

    @OnDeadDelay(NAME)
    async dead({ dueAt }: Delay<typeof NAME>, { manager, error }: DeadDelayContext): Promise<void> {
      await manager.query('INSERT INTO told VALUES ($1, $2)', [dueAt, error]);
    }
  }
  node = await stage.start({ providers: [Dying] });
  regularMs = (await node.delays.find(NAME, KEY))!.dueAt.getTime();
  const dead = node.next('dead');
  await goesOn();
  expect(await dead).toMatchObject({ attempt: 1, error: 'Error: no' });
  const [line] = await node.delays.history(NAME, KEY);
  expect(line).toMatchObject({ state: 'discarded', error: 'Error: no' });
  expect(await stage.sql('SELECT * FROM told')).toEqual([{ due: line?.dueAt, error: 'Error: no' }]);
});
