import { expect, it } from '@jest/globals';
import { VERDICTS, type Write, WRITES } from '../support/state-machine.js';
import { coded, readDocument, tableUnder } from './documents.js';

const DOCUMENT = readDocument('docs/state-machine.md');

/** How the document says it. */
const EPOCH = { new: '0', rises: '+ 1', stays: 'as it was', gone: '' };
const ATTEMPTS = { none: '0', 'one more': '+ 1', stay: 'as it was', 'one less': '− 1', gone: '' };
const LEASE = { none: 'none', cleared: 'cleared', taken: 'now + lease', gone: '' };

const lineOf = ([name, write]: [string, Write]): unknown[] => [
  name,
  write.statement,
  EPOCH[write.epoch],
  ATTEMPTS[write.attempts],
  LEASE[write.lease],
  write.wake,
  new Set(Object.values(write.steps).filter((end) => end !== null)),
];

it('docs/state-machine.md says of each write what the table of the tests says', () => {
  const [, ...lines] = tableUnder(DOCUMENT, 'What each write does');
  const told = lines.map(([name, statement = '', epoch, attempts, lease, wake, history = '']) => [
    name,
    /\[([\w-]+)\]/.exec(statement)?.[1],
    epoch,
    attempts,
    lease,
    wake,
    new Set([...history.matchAll(/`(\w+)`/g)].map(([, end]) => end)),
  ]);
  expect(told).toEqual(Object.entries(WRITES).map(lineOf));
});

it('docs/state-machine.md says the same verdicts', () => {
  const [header = [], ...lines] = tableUnder(DOCUMENT, 'Verdicts');
  expect(header.slice(1).map((cell) => cell.replaceAll(/`|schedule`, /g, ''))).toEqual(
    Object.keys(VERDICTS.none).map((write) => write),
  );
  const told = lines.map(([state, ...cells]) => [state, cells.map(coded)]);
  expect(told).toEqual(
    Object.entries(VERDICTS).map(([state, verdicts]) => [state, Object.values(verdicts)]),
  );
});
