import { AsyncLocalStorage } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { afterEach, expect, it } from '@jest/globals';
import diagnostics from 'node:diagnostics_channel';
import {
  type DelayAdmin,
  type DelayAdminMessage,
  type DelayChannelName,
  delayChannels,
  type DelayMessage,
  type DelayTarget,
} from 'nestjs-delay-queue';
import { plainHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { AttemptStore } from '../support/engine-parts.js';

const node = new OneNode({
  options: { nodeName: 'traced' },
  providers: [
    plainHandler('test.runs', () => {}),
    plainHandler('test.fails', () => Promise.reject(new Error('no')), { backoff: () => 0 }),
  ],
});

const CARRIED = { group: 'g', headers: { traceparent: '00-4b-01' } };
const offs: (() => void)[] = [];

const fails = (): never => {
  throw new Error('of telemetry');
};

afterEach(() => {
  for (const off of offs.splice(0)) off();
});

/** By plain names, as an agent subscribes that does not know the package. */
function on(channel: DelayChannelName, step: string, heard: (message: unknown) => void): void {
  const name = `tracing:nestjs-delay-queue:${channel}:${step}`;
  diagnostics.subscribe(name, heard);
  offs.push(() => diagnostics.unsubscribe(name, heard));
}

const next = (channel: DelayChannelName, step = 'asyncEnd'): Promise<unknown> =>
  new Promise((resolve) => on(channel, step, resolve));

it('an attempt has one message from its call to its written outcome, without the payload', async () => {
  const started = next('attempt', 'start');
  const over = next('attempt');
  const wrote = next('complete');
  const claimed = next('claim');
  const scheduled = next('schedule');
  const secret = { secret: 'payload' };
  await node.delays.schedule('test.runs', secret, { after: 0, key: 'k', ...CARRIED });
  expect(await scheduled).toMatchObject({ name: 'test.runs', key: 'k', ...CARRIED, count: 1 });
  expect(await scheduled).toMatchObject({ node: 'traced', verdict: 'scheduled' });
  expect(await claimed).toMatchObject({ node: 'traced', count: 1, claimed: 1 });
  expect(await wrote).toMatchObject({ node: 'traced', count: 1, written: 1 });
  const message = await over;
  expect(message).toBe(await started);
  expect(message).toMatchObject({ node: 'traced', name: 'test.runs', key: 'k', ...CARRIED });
  expect(message).toMatchObject({ attempt: 1, maxAttempts: 10, batch: 1, outcome: 'completed' });
  expect(JSON.stringify([message, await scheduled, await claimed])).not.toContain('secret');
});

it('a failure is on the error channel, and the outcome tells whether it is the last', async () => {
  const outcomes: unknown[] = [];
  const errors: unknown[] = [];
  const dead = signal();
  on('attempt', 'error', (message) => errors.push((message as DelayMessage).error));
  on('attempt', 'asyncEnd', (message) => {
    outcomes.push((message as { outcome: string }).outcome);
    if (outcomes.length === 2) dead.resolve();
  });
  await node.delays.schedule('test.fails', {}, { after: 0, maxAttempts: 2 });
  await dead.promise;
  expect(outcomes).toEqual(['retrying', 'dead']);
  expect(errors).toEqual([expect.objectContaining({ message: 'no' }), expect.anything()]);
});

it.each(['cancel', 'reschedule'] as const)('%s tells its verdict', async (verb) => {
  const told = next(verb);
  await node.delays.schedule('test.later', {}, { after: '1h', key: 'k' });
  if (verb === 'cancel') await node.delays.cancel('test.later', 'k');
  else await node.delays.reschedule('test.later', 'k', { after: '2h' });
  const verdict = verb === 'cancel' ? 'cancelled' : 'rescheduled';
  expect(await told).toMatchObject({ node: 'traced', name: 'test.later', key: 'k', verdict });
});

it('scheduleMany is one operation, and one that is refused has an error', async () => {
  const told = next('schedule');
  const items = ['a', 'b'].map((key) => ({ name: 'test.later', payload: {}, after: '1h', key }));
  await node.delays.scheduleMany(items as never);
  expect(await told).toMatchObject({
    name: 'test.later',
    key: null,
    count: 2,
    verdict: 'scheduled',
  });
  const refused = next('schedule', 'error');
  await expect(node.delays.scheduleMany([...items, ...items] as never)).rejects.toThrow('twice');
  expect(await refused).toMatchObject({ count: 4, error: expect.any(Error) });
});

const LATER = [
  { name: 'test.later', key: 'a' },
  { name: 'test.later', key: 'b' },
] as const;

const scheduleLater = async (): Promise<string> => {
  const items = LATER.map((target) => ({ ...target, payload: {}, after: '1h' }) as const);
  const [first] = await node.delays.scheduleMany(items);
  return first?.id as string;
};

it.each(['cancel', 'reschedule'] as const)('%sMany is one operation', async (verb) => {
  const change = async (targets: readonly DelayTarget[]) => {
    const told = next(verb);
    if (verb === 'cancel') await node.delays.cancelMany(targets);
    else await node.delays.rescheduleMany(targets, { after: '2h' });
    return await told;
  };
  await scheduleLater();
  const verdict = verb === 'cancel' ? 'cancelled' : 'rescheduled';
  const all = { node: 'traced', name: 'test.later', key: null, count: 2, verdict };
  expect(await change(LATER)).toEqual(all);
  const id = await scheduleLater();
  const mixed = await change([{ id }, { name: 'test.later', key: 'absent' }]);
  expect(mixed).toEqual({ node: 'traced', name: null, key: null, count: 2 });
});

type Of = Pick<DelayAdminMessage, 'action' | 'targets' | 'filter' | 'by' | 'verdicts'>;
const LISTED: Pick<Of, 'targets' | 'filter' | 'by'> = { targets: LATER, filter: null, by: 'ann' };
const FILTER = { name: 'test.later', keyPrefix: 'a' } as const;
const MATCHED: Pick<Of, 'targets' | 'filter' | 'by'> = { targets: null, filter: FILTER, by: null };
const BY_ANN = { by: 'ann' };

it.each<[what: string, call: (admin: DelayAdmin) => Promise<unknown>, message: Of]>([
  [
    'cancels a list',
    (admin) => admin.cancel(LATER, BY_ANN),
    { ...LISTED, action: 'cancel', verdicts: { cancelled: 2 } },
  ],
  [
    'cancels by a filter',
    (admin) => admin.cancel(FILTER),
    { ...MATCHED, action: 'cancel', verdicts: { cancelled: 1, running: 0 } },
  ],
  [
    'reschedules a list',
    (admin) => admin.reschedule(LATER, { after: '2h' }, BY_ANN),
    { ...LISTED, action: 'reschedule', verdicts: { rescheduled: 2 } },
  ],
  [
    'reschedules by a filter',
    (admin) => admin.reschedule(FILTER, { after: '2h' }),
    { ...MATCHED, action: 'reschedule', verdicts: { rescheduled: 1, running: 0 } },
  ],
  [
    'runs now',
    (admin) => admin.runNow(LATER, BY_ANN),
    { ...LISTED, action: 'runNow', verdicts: { due: 2 } },
  ],
  [
    'retries dead letters',
    (admin) => admin.retryDead(FILTER),
    { ...MATCHED, action: 'retryDead', verdicts: { retried: 0 } },
  ],
  [
    'discards dead letters',
    (admin) => admin.discardDead(LATER, BY_ANN),
    { ...LISTED, action: 'discardDead', verdicts: { absent: 2 } },
  ],
  [
    'pauses a group',
    (admin) => admin.pause('test.later', { group: 'g', reason: 'down', ...BY_ANN }),
    { ...LISTED, action: 'pause', targets: null, filter: { name: 'test.later', group: 'g' } },
  ],
  [
    'resumes a name',
    (admin) => admin.resume('test.later', BY_ANN),
    { ...LISTED, action: 'resume', targets: null, filter: { name: 'test.later' } },
  ],
])('an administrator who %s is one message', async (_, call, message) => {
  await scheduleLater();
  const started = next('admin', 'start');
  const told = next('admin');
  await call(node.admin);
  expect(await told).toEqual({ node: 'traced', ...message });
  expect(await told).toBe(await started);
});

it('retryDead of one key is on the channel of administrators', async () => {
  const told = next('admin');
  expect(await node.delays.retryDead('test.later', 'a', BY_ANN)).toEqual({ verdict: 'absent' });
  const target = { name: 'test.later', key: 'a' };
  expect(await told).toMatchObject({ action: 'retryDead', targets: [target], ...BY_ANN });
  expect(await told).toMatchObject({ verdicts: { absent: 1 } });
});

it('an administrator’s change that fails has an error, and no verdicts', async () => {
  await scheduleLater();
  const [failed, told] = [next('admin', 'error'), next('admin')];
  const ended = AbortSignal.abort(new Error('enough'));
  await expect(node.admin.cancel(FILTER, { signal: ended })).rejects.toThrow('enough');
  expect(await failed).toMatchObject({ ...MATCHED, error: ended.reason });
  expect(await told).not.toHaveProperty('verdicts');
});

it('a target by id is told by its id', async () => {
  const id = await scheduleLater();
  const told = next('admin');
  await node.admin.cancel([{ id }]);
  expect(await told).toMatchObject({ targets: [{ id }] });
});

it('a claim that fails has an error, and is tried again', async () => {
  const failure = new Error('of the claim');
  node.parts.intercept(AttemptStore, 'claim', () => Promise.reject(failure), 1);
  const [failed, completed] = [next('claim', 'error'), node.next('completed')];
  await node.delays.schedule('test.runs', {}, { after: 0 });
  expect(await failed).toMatchObject({ count: 1, error: failure });
  await completed;
});

it('a call is the context of its write, and of its end', async () => {
  const storage = new AsyncLocalStorage<DelayMessage>();
  const { start } = delayChannels.schedule;
  start.bindStore(storage, (message) => message);
  offs.push(() => start.unbindStore(storage));
  const seen: unknown[] = [];
  on('schedule', 'asyncEnd', () => seen.push(storage.getStore()));
  const ended = next('schedule');
  await node.delays.schedule('test.later', {}, { after: '1h' });
  expect(seen).toEqual([await ended]);
});

it('a subscriber that has unsubscribed hears nothing, and costs nothing', () => {
  const heard: unknown[] = [];
  const subscriber = (message: unknown): void => void heard.push(message);
  const { start } = delayChannels.scan;
  start.subscribe(subscriber);
  expect(start.unsubscribe(subscriber)).toBe(true);
  expect(start.hasSubscribers).toBe(false);
  start.publish({ node: 'traced', count: 0 });
  expect(heard).toEqual([]);
});

it('a node that starts loads and scans', async () => {
  const [loaded, scanned] = [next('load'), next('scan')];
  const other = await node.start({
    options: { nodeName: 'other' },
    providers: [plainHandler('test.other', () => {})],
  });
  expect(await loaded).toMatchObject({ count: expect.any(Number) });
  expect(await scanned).toMatchObject({ count: expect.any(Number) });
  await other.stop();
});

it('a subscriber that throws changes nothing', async () => {
  for (const step of ['start', 'end', 'asyncStart', 'asyncEnd'])
    for (const channel of ['schedule', 'attempt', 'claim', 'complete'] as const)
      on(channel, step, fails);
  for (let times = 0; times < 2; times += 1) {
    const completed = node.next('completed');
    await node.delays.schedule('test.runs', {}, { after: 0 });
    await completed;
  }
  expect(delayChannels.attempt.hasSubscribers).toBe(true);
});

/** In a process of its own, which an uncaught exception would end. */
const throwingIn = (channel: string): { status: number | null; stderr: string; stdout: string } =>
  spawnSync(
    process.execPath,
    [
      '--import',
      './tools/swc-loader.mjs',
      '--input-type=module',
      '-e',
      `import d from 'node:diagnostics_channel';
       const name = ${JSON.stringify(channel)};
       await import('nestjs-delay-queue');
       d.subscribe(name, () => { throw new Error('of telemetry') });
       for (let times = 0; times < 2; times += 1) d.channel(name).publish({});
       setImmediate(() => console.log('alive'));`,
    ],
    { encoding: 'utf8' },
  );

it('the filter of an administrator is a copy', async () => {
  const told = next('admin');
  const filter = { name: 'test.later' as const, state: 'dead' as const };
  await node.admin.retryDead(filter);
  const { filter: published } = (await told) as { filter: object };
  expect(published).toEqual(filter);
  expect(published).not.toBe(filter);
});

it('a subscriber that throws is warned of once; on a channel of another name it ends the process', () => {
  const { status, stdout, stderr } = throwingIn('tracing:nestjs-delay-queue:attempt:start');
  expect([status, stdout]).toEqual([0, 'alive\n']);
  expect(stderr.split('of telemetry')).toHaveLength(2);
  expect(throwingIn('tracing:another:attempt:start').status).not.toBe(0);
});

it.each([undefined, null, {}, [null], [{ name: 5 }]])(
  'a list that is none, %j, is refused as it is without a subscriber',
  async (items) => {
    on('schedule', 'start', () => {});
    await expect(node.delays.scheduleMany(items as never)).rejects.toMatchObject({
      code: 'DELAY_INVALID',
    });
  },
);
