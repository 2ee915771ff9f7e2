import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ClientBase } from 'pg';
import { PreparedStatements } from '../../../src/delay-queue/core/database/prepared-statements.js';

type Sent = string | { name: string; text: string; values: unknown[] };

/** What was sent, in order; an error fails the next one. */
let sent: Sent[];
let fails: Error | undefined;

const answerOf = (rows: unknown[]) => ({ rows });

class FakeClient {
  query = async (text: Sent): Promise<unknown> => {
    sent.push(text);
    const error = fails;
    fails = undefined;
    if (error !== undefined) throw error;
    if (typeof text === 'string' && text.includes('; ')) {
      return text.split('; ').map((_, index) => answerOf([index + 1]));
    }
    return answerOf([3]);
  };
  escapeLiteral = (text: string): string => `'${text}'`;
  escapeIdentifier = (text: string): string => `"${text}"`;
}

let client: ClientBase;
let prepared: PreparedStatements;

beforeEach(() => {
  [sent, fails] = [[], undefined];
  client = new FakeClient() as unknown as ClientBase;
  prepared = new PreparedStatements({ jit: 'off' });
});

const isNamed = (one: Sent | undefined): boolean => typeof one === 'object';

describe('a statement', () => {
  it('has a name only from when sessions have proven to be their clients’ own, and have their settings', async () => {
    await prepared.applySettings(client);
    expect(await prepared.run(client, 'SELECT 1', [])).toEqual([3]);
    expect([prepared.isOn, sent]).toEqual([false, ['SELECT 1']]);
    prepared.use();
    expect(prepared.isOn).toBe(true);
    await prepared.run(client, 'SELECT 1', []);
    expect(isNamed(sent.at(-1))).toBe(false);
    await prepared.applySettings(client);
    await prepared.applySettings(client);
    expect(sent).toHaveLength(3);
    expect(await prepared.run(client, 'SELECT 1', ['x'])).toEqual([3]);
    expect(sent.at(-1)).toEqual({
      name: expect.stringMatching(/^delay-queue statement [0-9a-f]{24}$/) as never,
      text: 'SELECT 1',
      values: ['x'],
    });
    const other = new FakeClient() as unknown as ClientBase;
    await prepared.run(other, 'SELECT 1', []);
    expect(isNamed(sent.at(-1))).toBe(false);
  });

  it('has the same name each time, which no other statement has', async () => {
    const own = new PreparedStatements();
    own.use();
    for (const sql of ['SELECT 1', 'SELECT 2', 'SELECT 1']) await own.run(client, sql, []);
    const [one, two, again] = sent.map((each) => (each as { name: string }).name);
    expect([one === again, one === two]).toEqual([true, false]);
  });

  it('that the session does not have any more ends all names', async () => {
    const own = new PreparedStatements();
    own.use();
    fails = Object.assign(new Error('no'), { code: '23505' });
    await expect(own.run(client, 'SELECT 1', [])).rejects.toThrow('no');
    expect(own.isOn).toBe(true);
    fails = Object.assign(new Error('gone'), { code: '26000' });
    await expect(own.run(client, 'SELECT 1', [])).rejects.toThrow('gone');
    expect(own.isOn).toBe(false);
    await own.run(client, 'SELECT 1', []);
    expect(isNamed(sent.at(-1))).toBe(false);
  });
});

describe('two statements', () => {
  let steps: string[];
  const sending = (): void => void steps.push(`sending behind ${sent.length}`);

  beforeEach(() => {
    steps = [];
    prepared = new PreparedStatements();
    prepared.use();
  });

  const around = (parameters: unknown[]) =>
    prepared.runBefore(client, 'COMMIT', 'SELECT 1', parameters, sending);

  it('are two round trips on a session that does not know the first, and one from then on', async () => {
    await around(['a']);
    expect(sent).toEqual([expect.objectContaining({ text: 'SELECT 1' }), 'COMMIT']);
    const { name } = sent[0] as { name: string };
    expect(await around(['a'])).toEqual({ rows: [1], other: answerOf([2]) });
    expect(sent.slice(2)).toEqual([`EXECUTE "${name}" ('a'); COMMIT`]);
    expect(steps).toEqual(['sending behind 1', 'sending behind 2']);
  });

  it('are two where a parameter is no text, and the last is sent behind the answer', async () => {
    await prepared.run(client, 'SELECT 1', ['a']);
    await around(['a', 1]);
    expect(sent.slice(1)).toEqual([expect.anything(), 'COMMIT']);
    expect(steps).toEqual(['sending behind 2']);
  });

  it('of which the first fails are not both sent', async () => {
    fails = new Error('no');
    const answer = around([]);
    await expect(answer).rejects.toThrow('no');
    expect([sent.length, steps]).toEqual([1, []]);
  });
});
