import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { CommitWatch, type CutAt, type Passed } from '../../chaos/proxy/commit-watch.js';
import { complete, message, parse, query, ready, startup, sync } from './protocol-messages.js';

const LOGIN = [startup(), message('p', 'secret')];
const LOGGED_IN = [message('R', 0), message('K', 1, 2), ready()];

/** Much that speaks of commits and is none. */
const decoy = fc.oneof(
  fc.constantFrom(
    query(`SELECT 'COMMIT'`),
    query('COMMIT PREPARED $1'),
    query(`-- ${' '.repeat(200)}\nCOMMIT`),
    parse('SELECT 1', 'COMMIT'),
    message('B', '', 'COMMIT', Buffer.from('COMMIT')),
    message('d', Buffer.from('QCOMMIT')),
    sync(),
  ),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => message('B', Buffer.from(bytes))),
);

const commit = fc.constantFrom(
  query('COMMIT'),
  query(' commit work ;'),
  query('END'),
  Buffer.concat([parse('COMMIT'), message('B', '', ''), message('E', '', 0)]),
  Buffer.concat([parse('commit', 'named'), message('B', '', 'named')]),
);

/** The same bytes, in pieces as a network may make them. */
const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
};

const cuts = fc.array(fc.nat({ max: 100_000 }), { maxLength: 40 });

function watchFor(cutAt: CutAt): CommitWatch {
  let left: CutAt | undefined = cutAt;
  return new CommitWatch(() => {
    const taken = left;
    left = undefined;
    return taken;
  });
}

/** What reaches the other side before the connection is cut; it always is, or this fails. */
function passed(chunks: readonly Buffer[], pass: (chunk: Buffer) => Passed): Buffer {
  const through: Buffer[] = [];
  for (const chunk of chunks) {
    const { chunk: part, cut } = pass(chunk);
    through.push(part);
    if (cut) return Buffer.concat(through);
  }
  throw new Error('not cut');
}

describe('the watch for a COMMIT', () => {
  test('cuts before it, wherever the bytes are split', () => {
    fc.assert(
      fc.property(fc.array(decoy), commit, fc.array(decoy), cuts, (before, it, after, at) => {
        const ahead = Buffer.concat([...LOGIN, ...before]);
        const bytes = Buffer.concat([ahead, it, ...after]);
        const watch = watchFor('before commit');
        const through = passed(pieces(bytes, at), (chunk) => watch.fromClient(chunk));

        expect(through).toEqual(bytes.subarray(0, through.length));
        expect(through.length).toBeGreaterThanOrEqual(ahead.length);
        // An incomplete message is never run.
        expect(through.length).toBeLessThan(ahead.length + it.readUInt32BE(1) + 1);
      }),
    );
  });

  test('cuts after the answer to it, and not after the answer to another, wherever the bytes are split', () => {
    const other = fc.constantFrom(
      complete('INSERT 0 1'),
      message('D', Buffer.from('COMMIT')),
      message('N', 'COMMIT'),
    );
    const answer = fc.constantFrom(
      complete('COMMIT'),
      complete('ROLLBACK'),
      message('E', 'SERROR', 'C40001', Buffer.from([0])),
    );
    const turns = fc.array(fc.oneof(fc.constant(complete('COMMIT')), other), { maxLength: 5 });
    fc.assert(
      fc.property(turns, fc.array(other), answer, cuts, cuts, (earlier, ahead, it, up, down) => {
        const asked = [...LOGIN, ...earlier.map(() => query('UPDATE'))];
        const sent = Buffer.concat([...asked, query('COMMIT'), query('SELECT 1')]);
        // Earlier turns may end with the same words: a COMMIT that was let pass.
        const told = Buffer.concat([
          ...LOGGED_IN,
          ...earlier.flatMap((each) => [each, ready()]),
          ...ahead,
        ]);
        const bytes = Buffer.concat([told, it, ready(), complete('SELECT 1'), ready()]);
        const watch = watchFor('after commit');
        for (const chunk of pieces(sent, up)) {
          expect(watch.fromClient(chunk)).toEqual({ chunk, cut: false });
        }
        const through = passed(pieces(bytes, down), (chunk) => watch.fromServer(chunk));

        expect(through).toEqual(bytes.subarray(0, through.length));
        expect(through.length).toBeGreaterThanOrEqual(told.length);
        expect(through.length).toBeLessThan(told.length + it.length);
      }),
    );
  });

  test('lets everything pass while nothing is to be cut', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(decoy, commit)), cuts, (messages, at) => {
        const watch = new CommitWatch(() => undefined);
        for (const chunk of pieces(Buffer.concat([...LOGIN, ...messages]), at)) {
          expect(watch.fromClient(chunk)).toEqual({ chunk, cut: false });
        }
      }),
    );
  });

  test('understands a client that asks for TLS first, and a server that says no', () => {
    const watch = watchFor('after commit');
    const asks = message('', 80_877_103);
    watch.fromClient(asks);
    watch.fromServer(Buffer.from('N'));
    watch.fromClient(Buffer.concat([...LOGIN, query('COMMIT')]));
    const answers = Buffer.concat([...LOGGED_IN, complete('COMMIT'), ready()]);
    expect(watch.fromServer(answers)).toEqual({ chunk: Buffer.concat(LOGGED_IN), cut: true });
  });
});
