import { describe, expect, it } from '@jest/globals';
import { NodeProcess } from '../support/node-process.js';

/** Half a minute of its own, and a busy machine. */
const WITHIN_MS = 180_000;

const race = (args: string[], env: Record<string, string> = {}): NodeProcess =>
  NodeProcess.start('src/demo/race/index.ts', { args, env: { DATABASE_URL: '', ...env } });

describe('npm run demo:race', () => {
  it(
    'holds everything while one process is paused and another one is killed',
    async () => {
      const running = race(['--orders', '40', '--processes', '2', '--seed', '7']);
      const exit = await running.exited;
      expect(running.output).toMatch(/process \d is paused for 5 s/);
      expect(running.output).toMatch(/process \d is killed/);
      expect(running.output).not.toContain('✗');
      expect(running.output).toContain('All of this holds.');
      expect(exit).toEqual({ code: 0, signal: null });
    },
    WITHIN_MS,
  );

  it(
    'shows what timers in memory lose',
    async () => {
      const args = ['--naive', '--orders', '40', '--processes', '2', '--seed', '7'];
      const running = race(args);
      const exit = await running.exited;
      expect(running.output).toContain('✗ every order was paid or closed');
      expect(running.output).toMatch(/#\d+ is open for good: its timer died with process \d/);
      expect(running.output).toMatch(/\d of these do not hold; orders that are broken: \d/);
      expect(exit).toEqual({ code: 1, signal: null });
    },
    WITHIN_MS,
  );

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
