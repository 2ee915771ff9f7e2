import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Exit, NodeProcess } from '../support/node-process.js';

/** Half a minute of its own, and a busy machine. */
const WITHIN_MS = 180_000;

const race = (args: string[], env: Record<string, string> = {}): NodeProcess =>
  NodeProcess.start('src/demo/race/index.ts', { args, env: { DATABASE_URL: '', ...env } });

const SMALL = ['--orders', '40', '--processes', '2', '--seed', '7'];

interface Finished extends Exit {
  output: string;
}

async function finished(args: string[]): Promise<Finished> {
  const running = race(args);
  const exit = await running.exited;
  return { ...exit, output: running.output };
}

describe('npm run demo:race', () => {
  let ours: Finished;
  let naive: Finished;

  // Beside each other: most of a race is waiting for deadlines.
  beforeAll(async () => {
    [ours, naive] = await Promise.all([finished(SMALL), finished(['--naive', ...SMALL])]);
  }, WITHIN_MS);

  it('holds everything while one process is paused and another one is killed', () => {
    expect(ours.output).toMatch(/process \d is paused for 5 s/);
    expect(ours.output).toMatch(/process \d is killed/);
    expect(ours.output).not.toContain('✗');
    expect(ours.output).toContain('All of this holds.');
    expect(ours).toMatchObject({ code: 0, signal: null });
  });

  it('shows what timers in memory lose', () => {
    expect(naive.output).toContain('✗ every order was paid or closed');
    expect(naive.output).toMatch(/#\d+ is open for good: its timer died with process \d/);
    expect(naive.output).toMatch(/\d of these do not hold; orders that are broken: \d/);
    expect(naive).toMatchObject({ code: 1, signal: null });
  });

  it.each([
    [['--orders', 'many'], {}, /^--orders takes a whole number from 10 to 5000, not 'many'\n/],
    [
      [],
      { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' },
      /^The race makes a database of its own on the server of DATABASE_URL, and could not: .*\n$/m,
    ],
  ])('says in a line why it cannot be run: %j %j', async (args, env, message) => {
    const running = race(args, env);
    expect(await running.exited).toEqual({ code: 2, signal: null });
    expect(running.output).toMatch(message);
    expect(running.output).not.toContain('    at ');
  });
});
