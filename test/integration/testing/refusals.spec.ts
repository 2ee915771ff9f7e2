import { describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from 'nestjs-delay-queue';
import { DelayTesting, DelayTestingError } from 'nestjs-delay-queue/testing';
import { type DelayNode, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { TestedNode, told } from './support/tested.js';

let whenFenced: () => Promise<void> = async () => {};
const fenced = fencedHandler('test.fenced', () => whenFenced());
const node = new TestedNode(
  { 'test.a': {}, 'test.one': { concurrency: 1 } },
  { nodeName: 'same', providers: [fenced] },
);
const quiet = plainHandler('test.b', () => {});
const COMPLETED = ['test.a 1: completed'];

const refusal = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('time travel', () => {
  it('is refused while other nodes serve the schema, whatever they run by', async () => {
    const { testing } = node;
    const { dueAt } = await node.schedule('test.a', '1', '1h');
    for (const worker of [true, 'manual'] as const) {
      const options = { worker, nodeName: 'same' };
      const other = await node.start({ providers: [quiet], options });
      for (const call of [
        () => testing.advance('2h'),
        () => testing.drain(),
        () => testing.clear(),
        () => testing.fire('test.a', '1'),
      ]) {
        const error = await refusal(call());
        expect(error).toBeInstanceOf(DelayTestingError);
        expect((error as Error).message).toMatch(
          /other nodes serve the schema delay_queue, .*: same(:[0-9a-f]{4})?\. Give each test file its own database/,
        );
      }
      expect(await node.delays.find('test.a', '1')).toMatchObject({ dueAt, attempts: 0 });
      await other.stop();
    }
    expect(told(await testing.advance('2h'))).toEqual(COMPLETED);
  });

  it('is refused as soon as one comes, in the middle of it', async () => {
    const others: DelayNode[] = [];
    node.does['test.a'] = async () => others.push(await node.start({ providers: [quiet] }));
    await node.schedule('test.a', '1', '1h');
    const { dueAt } = await node.schedule('test.a', '2', '9h');
    await expect(node.testing.advance('9h')).rejects.toThrow('other nodes serve the schema');
    await node.testing.expectScheduled('test.a', '2', { dueIn: '8h' });
    expect(await node.delays.find('test.a', '2')).toMatchObject({ dueAt });
    await others[0]?.stop();
  });

  it('is not refused beside those that only schedule, nor after one was killed', async () => {
    const producer = await node.start({ providers: [quiet], options: { worker: false } });
    await node.sql(`INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
                    VALUES ('killed', '{test.a}', true, now(), now())`);
    await node.schedule('test.a', '1', '1h');
    expect(told(await node.testing.advance('1h'))).toEqual(COMPLETED);
    await producer.stop();
  });

  it('is one call at a time, also from within a handler', async () => {
    const inside: unknown[] = [];
    node.does['test.a'] = async () => inside.push(await refusal(node.testing.advance('1h')));
    await node.schedule('test.a', '1', '1h');
    const first = node.testing.advance('1h');
    await expect(node.testing.drain()).rejects.toThrow(
      'another call of DelayTesting is in progress',
    );
    expect(told(await first)).toEqual(COMPLETED);
    expect(inside).toEqual([expect.any(DelayTestingError)]);
    expect(await node.testing.drain()).toEqual([]);
  });

  // What a test leaves behind whose time limit passed while its handler hung.
  it.each(['test.a', 'test.one', 'test.fenced'] as const)(
    'a call that a test left in a handler of %s is named by the next one, and ended by clear',
    async (name) => {
      let [begins, goesOn] = [(): void => {}, (): void => {}];
      const begun = new Promise<void>((resolve) => (begins = resolve));
      const hanging = new Promise<void>((resolve) => (goesOn = resolve));
      whenFenced = node.does[name] = () => (begins(), hanging);
      await node.schedule(name, 'hung', '1h');
      const left = refusal(node.testing.advance('1h'));
      await begun;
      const message = new RegExp(
        `in progress, advance, called .* ago: the handler of ${name} of "hung" has been running for .*clear`,
      );
      await expect(node.testing.drain()).rejects.toThrow(message);
      await node.testing.clear();
      expect(await left).toMatchObject({
        code: 'DELAY_TESTING',
        message: expect.stringMatching(/^clear\(\) has ended a call of advance, .*"hung"/),
      });
      node.does = {};
      whenFenced = async () => {};
      await node.schedule(name, 'next', '1h');
      expect(told(await node.testing.advance('1h'))).toEqual([`${name} next: completed`]);
      goesOn();
    },
  );

  it('runs nothing that an open transaction holds, and goes no further', async () => {
    await node.schedule('test.a', 'free', '1h');
    const { dueAt } = await node.schedule('test.a', 'held', '2h');
    const { manager, commit } = await node.begin();
    await node.delays.reschedule('test.a', 'held', { extendBy: '1h' }, { manager });
    expect(told(await node.testing.advance('90m'))).toEqual(['test.a free: completed']);
    await expect(node.testing.advance('9h')).rejects.toMatchObject({ code: 'DELAY_UNSTABLE' });
    await node.testing.expectScheduled('test.a', 'held', { dueIn: 0 });
    await commit();
    const [ran] = await node.testing.advance('9h');
    expect(ran).toMatchObject({ key: 'held', at: new Date(dueAt.getTime() + 3_600_000) });
  });

  it('clears nothing while an open transaction holds a part of it', async () => {
    await node.schedule('test.a', 'free', '1h');
    await node.schedule('test.a', 'held', '2h');
    const { manager, rollback } = await node.begin();
    await node.delays.reschedule('test.a', 'held', { after: '3h' }, { manager });
    await expect(node.testing.clear()).rejects.toMatchObject({ code: 'DELAY_UNSTABLE' });
    await node.testing.expectScheduled('test.a', 'free');
    await rollback();
    await node.testing.clear();
    await node.testing.expectNotScheduled('test.a', 'free');
  });

  it.each<[field: string, call: () => Promise<unknown>]>([
    ['name', () => node.testing.fire('no name' as 'test.a', '1')],
    ['key', () => node.testing.fire('test.a', '')],
    ['span', () => node.testing.advance('30x')],
    ['span', () => node.testing.advance(undefined as never)],
    ['expected.dueIn', () => node.testing.expectScheduled('test.a', '1', { dueIn: 'soon' })],
    ['expected.within', () => node.testing.expectScheduled('test.a', '1', { within: {} as never })],
    ['expected.duein', () => node.testing.expectScheduled('test.a', '1', { duein: 1 } as never)],
    ['expected', () => node.testing.expectScheduled('test.a', '1', null as never)],
    ['instant', () => node.testing.advanceTo('2030-01-01' as never)],
    ['instant', () => node.testing.advanceTo(new Date(NaN))],
    ['listener', async () => node.testing.onTime(undefined as never)],
    ['now', () => node.testing.clear({ now: 0 as never })],
    ['options.at', () => node.testing.clear({ at: new Date() } as never)],
    ['name', () => node.testing.expectNotScheduled('' as 'test.a', '1')],
    ['app', async () => DelayTesting.of(null as never)],
    ['app', async () => DelayTesting.of({} as never)],
  ])('refuses a bad %s', async (field, call) => {
    const error = await refusal(call());
    expect(error).toBeInstanceOf(DelayInvalidError);
    expect(error).toMatchObject({ field });
  });
});
