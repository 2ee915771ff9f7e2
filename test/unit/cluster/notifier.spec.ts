import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Notifier } from '../../../src/delay-queue/core/cluster/notifier.js';
import { type Hint, parseHint } from '../../../src/delay-queue/core/cluster/hint.js';
import { DelayEvents } from '../../../src/delay-queue/core/api/events.js';
import { groupNumber } from '../../../src/delay-queue/core/store/rows/attempt-rows.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { type Signal, signal } from '../../support/delay-node.js';

const wake = (id: number): Wake => ({
  id,
  epoch: 1,
  name: 'a',
  group: null,
  wakeMs: 1_000,
  stalled: false,
  failed: false,
});

/** The texts of an array as Postgres reads it. */
const textsIn = (array: unknown): string[] =>
  [...String(array).matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );

/** What was sent, a list for each statement. */
let sent: Hint[][];
/** Of the statement that is on its way. */
let answer: Signal<unknown[]>;
let events: DelayEvents;
let notifier: Notifier;

beforeEach(() => {
  sent = [];
  events = new DelayEvents();
  const query = async (_sql: string, [channel, hints]: unknown[]): Promise<never[]> => {
    expect(channel).toBe('channel');
    sent.push(textsIn(hints).map((text) => parseHint(text) as Hint));
    answer = signal<unknown[]>();
    return (await answer.promise) as never[];
  };
  notifier = new Notifier({ query }, 'channel', events);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Until there is nothing more to send. */
async function answerAll(): Promise<void> {
  for (let answered = 0; ; answered += 1) {
    await turn();
    if (sent.length === answered) break;
    answer.resolve([]);
  }
  await notifier.drain();
}

const GROUPS = new Map(['one', 'two'].map((group) => [groupNumber(group), group]));

/** Hints hold numbers of groups alone. */
const groupsOf = (hints: readonly Hint[]): string[] =>
  hints.flatMap((hint) =>
    hint.kind === 'vacant'
      ? hint.of.map(({ name, groupNumber: number }) => `${name} ${number && GROUPS.get(number)}`)
      : [],
  );

describe('places that are free', () => {
  it('are told of for each name and group, once', async () => {
    notifier.sendVacant('a', 'one');
    notifier.sendVacant('a', 'two');
    notifier.sendVacant('a', 'one');
    notifier.sendVacant('a', null);
    notifier.sendVacant('b', 'one');
    await answerAll();
    expect(sent.map(groupsOf)).toEqual([['a one', 'a two', 'a null', 'b one']]);
  });

  it('are told of again when they were free once more meanwhile', async () => {
    notifier.sendVacant('a', 'one');
    await turn();
    notifier.sendVacant('a', 'one');
    await answerAll();
    expect(sent.map(groupsOf)).toEqual([['a one'], ['a one']]);
  });
});

/** One of the three kinds of things that travel together. */
type Told = { kind: 'wake' | 'passed' | 'vacant'; id: number; turns: number };

it('whatever is to be told, and whenever it comes, is told once, as soon as the statement before it is answered', async () => {
  const told = fc.record({
    kind: fc.constantFrom<Told['kind']>('wake', 'passed', 'vacant'),
    id: fc.integer({ min: 1, max: 1_000_000 }),
    turns: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(told, { selector: ({ kind, id }) => `${kind} ${id}`, maxLength: 20 }),
      async (all) => {
        sent = [];
        for (const { kind, id, turns } of all) {
          if (kind === 'wake') notifier.send(wake(id));
          else if (kind === 'passed') notifier.sendPassed(wake(id));
          else notifier.sendVacant(`a${id}`, null);
          for (let passed = 0; passed < turns; passed += 1) await turn();
          if (turns === 2) answer.resolve([]);
        }
        await answerAll();
        const heard = sent.flat().flatMap((hint) => {
          if (hint.kind === 'vacant') return hint.of.map(({ name }) => `vacant ${name.slice(1)}`);
          if (hint.kind !== 'wakes' && hint.kind !== 'passed') return [];
          return hint.wakes.map(({ id }) => `${hint.kind === 'wakes' ? 'wake' : 'passed'} ${id}`);
        });
        expect(heard.toSorted()).toEqual(all.map(({ kind, id }) => `${kind} ${id}`).toSorted());
      },
    ),
    { numRuns: 200 },
  );
});

it('of more than the others can take in, ten thousand are told of', async () => {
  for (let id = 1; id <= 10_001; id += 1) {
    notifier.send(wake(id));
    notifier.sendPassed(wake(id));
    notifier.sendVacant('a', String(id));
  }
  await answerAll();
  const counts = { wakes: 0, passed: 0, vacant: 0 };
  for (const hint of sent.flat()) {
    if (hint.kind === 'vacant') counts.vacant += hint.of.length;
    else if (hint.kind === 'wakes' || hint.kind === 'passed')
      counts[hint.kind] += hint.wakes.length;
  }
  expect(counts).toEqual({ wakes: 10_000, passed: 10_000, vacant: 10_000 });
  notifier.send(wake(10_002));
  await answerAll();
  expect(sent.at(-1)).toMatchObject([{ wakes: [{ id: 10_002 }] }]);
});

it('a statement that fails is told of, and what comes then is sent all the same', async () => {
  const told: string[] = [];
  events.on('taskFailed', ({ task }) => told.push(task));
  events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
  notifier.send(wake(1));
  await turn();
  notifier.send(wake(2));
  answer.reject(new Error('down'));
  await turn();
  expect(told).toEqual(['hint']);
  answer.resolve([]);
  await notifier.drain();
  expect([sent.length, told]).toEqual([2, ['hint', 'hint again']]);
});

it('aborts of nothing, and of no node, are not sent', async () => {
  await notifier.abort([]);
  expect(sent).toEqual([]);
  const came = notifier.nodesChanged('web-1');
  const aborted = notifier.abort([1, 2]);
  expect(sent).toEqual([[{ kind: 'nodes', came: 'web-1' }], [{ kind: 'abort', ids: [1, 2] }]]);
  answer.resolve([]);
  void came;
  await aborted;
});
