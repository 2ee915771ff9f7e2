import { AssertionError } from 'node:assert';
import { expect, it } from '@jest/globals';
import { signal } from '../../support/delay-node.js';
import { fails, TestedNode } from './support/tested.js';

const node = new TestedNode({ 'test.a': { maxAttempts: 2 } });

const scheduled = (
  ...given: [key: string, expected?: { dueIn?: string; within?: string; payload?: { n: number } }]
) => node.testing.expectScheduled('test.a', ...(given as [string]));

const place = (key: string, after: string) =>
  node.delays.schedule('test.a', { n: 1 }, { after, key });

it('expectScheduled is content with what waits, when and with what it should', async () => {
  node.does['test.a'] = fails;
  await place('1', '30m');
  for (const expected of [
    {},
    { dueIn: '30m', payload: { n: 1 } },
    { dueIn: '29m', within: '2m' },
  ]) {
    await expect(scheduled('1', expected)).resolves.toBeUndefined();
  }
  await node.testing.advance('30m');
  await expect(scheduled('1', { dueIn: '1h' })).resolves.toBeUndefined();
});

it('both throw an AssertionError that says what is there instead', async () => {
  const error: unknown = await scheduled('1').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AssertionError);
  expect(error).toMatchObject({
    message: 'test.a of "1" is not scheduled. There is no delay of that name',
    actual: null,
    expected: {},
    operator: 'expectScheduled',
    stack: expect.stringContaining('expectations.spec'),
  });
  await node.testing.expectNotScheduled('test.a', '1');
  await place('1', '26h');
  await expect(scheduled('2', { dueIn: '30m' })).rejects.toThrow(
    /^test\.a of "2" is not scheduled\. Delays of that name: "1" scheduled, due in 1d (2h|1h 59m 5\ds)$/,
  );
  await expect(scheduled('1', { dueIn: '25h' })).rejects.toThrow(
    /is scheduled, but it is due in 1d (2h|1h 59m 5\ds), not in 1d 1h \(within 10s\)/,
  );
  await expect(scheduled('1', { payload: { n: 2 } })).rejects.toThrow(
    'test.a of "1" is scheduled, but its payload is {"n":1}, not {"n":2}',
  );
  const there = node.testing.expectNotScheduled('test.a', '1');
  await expect(there).rejects.toBeInstanceOf(AssertionError);
  await expect(there).rejects.toThrow(
    /^test\.a of "1" is there: "1" scheduled, due in 1d (2h|1h 59m 5\ds)$/,
  );
});

it('neither a dead letter nor an attempt that runs is scheduled; one that runs is there', async () => {
  node.does['test.a'] = fails;
  await place('1', '30m');
  await node.testing.advance('1d');
  await expect(scheduled('1')).rejects.toThrow(
    'test.a of "1" is not scheduled. It is dead. Delays of that name: "1" dead (Error: no)',
  );
  await node.testing.expectNotScheduled('test.a', '1');
  const goOn = signal();
  node.does['test.a'] = () => goOn.promise;
  await place('2', '1h');
  const started = node.next('started');
  const running = node.testing.advance('1h');
  await started;
  await expect(scheduled('2')).rejects.toThrow('It is running.');
  await expect(node.testing.expectNotScheduled('test.a', '2')).rejects.toThrow('"2" running');
  goOn.resolve();
  await running;
});
