import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERDICTS, type Write, WRITES } from '../support/state-machine.js';
import { wordsOf } from './compile.js';
import { coded, prose, readDocument, ROOT, tableUnder } from './documents.js';

const DOCUMENT = readDocument('docs/architecture.md');

/** The part of the page with the states, up to the next part. */
const STATES = DOCUMENT.text
  .split('\n## ')
  .find((part) => part.startsWith('The states of a delay'))!;

/** How the document says it. */
const EPOCH = { new: '0', rises: '+ 1', stays: 'as it was', gone: '' };
const ATTEMPTS = { none: '0', 'one more': '+ 1', stay: 'as it was', 'one less': '− 1', gone: '' };
const LEASE = { none: 'none', cleared: 'cleared', taken: 'now + lease', gone: '' };

const queueOf = ([name, write]: [string, Write]): unknown[] => [
  name,
  write.statement,
  EPOCH[write.epoch],
  ATTEMPTS[write.attempts],
  LEASE[write.lease],
  write.wake,
  new Set(Object.values(write.steps).filter((end) => end !== null)),
];

it('docs/architecture.md says of each write what the table of the tests says', () => {
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
  expect(told).toEqual(Object.entries(WRITES).map(queueOf));
});

it('docs/architecture.md says the same verdicts', () => {
  const [[, ...header] = [], ...lines] = tableUnder(DOCUMENT, 'Verdicts');
  const writes = header.map((cell) => cell.replaceAll(/`|schedule`, /g, ''));
  expect(writes).toEqual(Object.keys(VERDICTS.none));
  const told = lines.map(([state, ...cells]) => [state, cells.map(coded)]);
  expect(told).toEqual(
    Object.entries(VERDICTS).map(([state, verdicts]) => [state, Object.values(verdicts)]),
  );
});

it('docs/architecture.md tells the states of find and of history, and draws no other', () => {
  const states = ['LiveState', 'EndState'].map((type) =>
    wordsOf('src/delay-queue/core/api/delay.ts', type).toSorted(),
  );
  const told = prose({ ...DOCUMENT, text: STATES })
    .split(/^\| end /m)
    .map((part) => [...part.matchAll(/^\| `(\w+)`/gm)].map(([, state = '']) => state).toSorted());
  expect(told).toEqual(states);
  const drawn = [...STATES.matchAll(/^ {2}(\w+) --> (\w+|\[\*\])/gm)].flatMap(([, from, to]) => [
    from,
    to,
  ]);
  expect(new Set(drawn)).toEqual(new Set(['[*]', ...states.flat()]));
});

it('docs/architecture.md mentions every statement that writes a delay', () => {
  const folder = join(ROOT, 'src/delay-queue/core/store/sql');
  const writes = /(?:UPDATE|DELETE FROM|INSERT INTO) \$\{(?:tables\.)?delay\}/;
  const missing = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && writes.test(readFileSync(join(folder, file), 'utf8')))
    .filter((file) => !DOCUMENT.text.includes(`store/sql/${file}`));
  expect(missing).toEqual([]);
});
