/**
 * `npm run ci`: the whole gate. Lanes of a stage run beside each other, the scripts of a lane one after the
 * other; the first that fails ends the gate when its stage is over. Ends with the sum of all tests.
 *
 * Beside each other stand what does not write the same files, and what waits for the network, for Postgres,
 * and for faults to pass. `npm test` has the machine to itself.
 */
import { spawn } from 'node:child_process';

const STAGES = [
  [['lint'], ['build', 'format:check', 'package', 'package:check']],
  [['test']],
  [
    ['test:matrix -- --only 15 --settings hostile --focused'],
    ['test:apps -- --gate --packed'],
    ['test:orms'],
    ['chaos -- --minutes 1 --seed gate'],
  ],
];

const SUMMARY = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm;

/** A lane beside another one tells what a script wrote when that is over. */
function run(script, isAlone) {
  const command = `npm run ${script}`;
  const beganAtMs = performance.now();
  return new Promise((resolve, reject) => {
    let output = '';
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        if (isAlone) process.stdout.write(text);
      });
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (!isAlone) process.stdout.write(output);
      const seconds = Math.round((performance.now() - beganAtMs) / 1_000);
      process.stdout.write(`\n--- ${command}: ${code === 0 ? 'ok' : 'FAILED'} in ${seconds} s\n\n`);
      resolve({ isGood: code === 0, counts: countsIn(output) });
    });
  });
}

/** @returns how many tests passed, failed and were skipped */
function countsIn(output) {
  const last = [...output.matchAll(SUMMARY)].at(-1);
  return last === undefined ? [0, 0, 0] : last.slice(1).map((text) => Number(text ?? 0));
}

const total = [0, 0, 0];
let isGood = true;

async function runLane(scripts, isAlone) {
  for (const script of scripts) {
    const result = await run(script, isAlone);
    for (const [index, count] of result.counts.entries()) total[index] += count;
    // What fails without a test that does counts as one.
    if (!result.isGood && result.counts[1] === 0) total[1] += 1;
    if (result.isGood) continue;
    isGood = false;
    return;
  }
}

for (const lanes of STAGES) {
  await Promise.all(lanes.map((scripts) => runLane(scripts, lanes.length === 1)));
  if (!isGood) break;
}
const [passed, failed, skipped] = total;
process.stdout.write(
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
);
process.exitCode = isGood ? 0 : 1;
