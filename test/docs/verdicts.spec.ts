import { describe, expect, it } from '@jest/globals';
import { DelayError, type DelayName, type OnConflict } from 'nestjs-delay-queue';
import { plainHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { type CallersWrite, type RowState, VERDICTS } from '../support/state-machine.js';

const BY_ITS_HANDLER = 'running, by its handler';
type FromOutside = Exclude<RowState, typeof BY_ITS_HANDLER>;

/** What every row of the table needs: one row of `delay`, or none. */
const ROWS: Record<FromOutside, string | null> = {
  none: null,
  scheduled: `0, NULL, NULL, clock_timestamp() + interval '1 hour'`,
  retrying: `1, NULL, NULL, clock_timestamp() + interval '1 hour'`,
  running: `1, clock_timestamp() + interval '1 hour', 'another', clock_timestamp()`,
  'lease over': `1, clock_timestamp() - interval '1 hour', 'another', clock_timestamp()`,
  'lease over, being removed': `1, clock_timestamp() - interval '1 hour', 'another', clock_timestamp()`,
  dead: `3, NULL, NULL, 'infinity'`,
};

const WRITES = Object.keys(VERDICTS.none) as CallersWrite[];

describe('the table of verdicts in docs/architecture.md', () => {
  let written = signal<string>();
  const node = new OneNode({
    providers: [
      plainHandler('test.own', async ({ name, key, payload }) =>
        written.resolve(await answerOf(payload as CallersWrite, name, key!)),
      ),
    ],
  });

  /** The verdict, or the code of what was thrown. */
  async function answerOf(write: CallersWrite, name: DelayName, key: string): Promise<string> {
    const { delays } = node;
    const writes: Partial<Record<CallersWrite, () => Promise<{ verdict: string }>>> = {
      cancel: () => delays.cancel(name, key),
      reschedule: () => delays.reschedule(name, key, { after: '1h' }),
      retryDead: () => delays.retryDead(name, key),
    };
    const schedule = () =>
      delays.schedule(name, null, { after: '1h', key, onConflict: write as OnConflict });
    try {
      return (await (writes[write] ?? schedule)()).verdict;
    } catch (error) {
      if (error instanceof DelayError) return error.code;
      throw error;
    }
  }

  it.each(Object.keys(ROWS) as FromOutside[])('%s', async (state) => {
    const answers: Partial<Record<CallersWrite, string>> = {};
    for (const write of WRITES) {
      if (ROWS[state] !== null) {
        await node.sql(
          `INSERT INTO delay_queue.delay
             (name, key, payload, due_at, created_at, attempts, leased_until, leased_by, wake_at)
           SELECT 'test.pair', $1, 'null', clock_timestamp(), clock_timestamp(), ${ROWS[state]}`,
          [write],
        );
      }
      // As a transactional attempt does before its COMMIT.
      const attempt = state.endsWith('being removed') ? await node.begin() : undefined;
      await attempt?.manager.query(`DELETE FROM delay_queue.delay WHERE key = '${write}'`);
      answers[write] = await answerOf(write, 'test.pair', write);
      await attempt?.rollback();
    }
    expect(answers).toEqual(VERDICTS[state]);
  });

  it('running, by its handler', async () => {
    const answers: Partial<Record<CallersWrite, string>> = {};
    for (const write of WRITES) {
      written = signal<string>();
      await node.delays.schedule('test.own', write, { after: 0, key: write });
      answers[write] = await written.promise;
      const end = `SELECT FROM delay_queue.history WHERE key = '${write}'`;
      await node.until(end, ({ length }) => length === 1);
    }
    expect(answers).toEqual(VERDICTS[BY_ITS_HANDLER]);
  });
});
