import { spawn } from 'node:child_process';

/** Whatever hangs is ended by then. */
const WITHIN_MS = 300_000;

/** What npm tells the scripts that it runs about itself means nothing to another project. */
const OF_THIS_PROJECT = /^npm_(package|lifecycle|config_local_prefix|command)/;

/**
 * Runs a program in a folder.
 *
 * @throws Error with everything that it wrote, when it fails or takes longer than five minutes
 */
export function run(
  [program = '', ...parameters]: readonly string[],
  folder: string,
  more: Record<string, string>,
): Promise<void> {
  const own = Object.entries(process.env).filter(([name]) => !OF_THIS_PROJECT.test(name));
  return new Promise((resolve, reject) => {
    let output = '';
    const child = spawn(program, parameters, {
      cwd: folder,
      env: { ...Object.fromEntries(own), ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      timeout: WITHIN_MS,
      killSignal: 'SIGKILL',
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => (output += data.toString()));
    }
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${[program, ...parameters].join(' ')}: ${signal ?? code}\n${output}`));
    });
  });
}
