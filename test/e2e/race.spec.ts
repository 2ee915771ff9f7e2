import { expect, it } from '@jest/globals';
import { parseCommandLine } from '../../src/demo/race/command-line.js';
import { NodeProcess } from '../support/node-process.js';
import { currentRun } from '../support/test-run.js';

/** Half a minute of its own, and a busy machine. */
const WITHIN_MS = 180_000;

const SMALL = ['--orders', '40', '--processes', '2', '--seed', '7'];

async function race(DATABASE_URL: string, ...args: string[]) {
  const running = NodeProcess.start('src/demo/race/index.ts', { args, env: { DATABASE_URL } });
  const { code } = await running.exited;
  return { code, output: running.output };
}

it(
  'npm run demo:race: all holds while one process is paused and another one is killed; timers in memory are lost',
  async () => {
    // Beside each other: most of a race is waiting for deadlines. Ours brings its Postgres.
    const [ours, naive] = await Promise.all([
      race('', ...SMALL),
      race(currentRun().serverUrl, '--naive', ...SMALL),
    ]);
    expect(ours.output).toMatch(/process \d is paused for 5 s/);
    expect(ours.output).toMatch(/process \d is killed/);
    expect(ours.output).not.toContain('✗');
    expect(ours.output).toContain('All of this holds.');
    expect(ours.code).toBe(0);

    expect(naive.output).toContain('✗ every order was paid or closed');
    expect(naive.output).toMatch(/#\d+ is open for good: its timer died with process \d/);
    expect(naive.output).toMatch(/\d of these do not hold; orders that are broken: \d/);
    expect(naive.code).toBe(1);
  },
  WITHIN_MS,
);

it('npm run demo:race says in a line why it cannot be run', async () => {
  expect(() => parseCommandLine(['--orders', 'many'])).toThrow(
    "--orders takes a whole number from 10 to 5000, not 'many'",
  );
  const { output, code } = await race('postgresql://nobody@127.0.0.1:1/none');
  expect(code).toBe(2);
  expect(output).toMatch(
    /^The race makes a database of its own on the server of DATABASE_URL, and could not: .*\n$/m,
  );
  expect(output).not.toContain('    at ');
});
