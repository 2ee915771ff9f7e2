/** `npm run demo:race`: what happens to orders that are paid at the moment they close. */
import { inspect } from 'node:util';
import { ClosingTime } from './closing-time.js';
import { parseCommandLine, RaceUsageError, USAGE, type RaceOptions } from './command-line.js';
import { Progress } from './progress.js';
import { race } from './race.js';
import { RaceError } from './race-error.js';
import { brokenOf, headingOf, reportOf, verdictOf } from './report.js';
import { shown } from '../../shop/shown.js';
import { styleFor } from './style.js';

const closing = new ClosingTime();

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => void closing.closeAll().then(() => process.exit(code)));
}

async function run(options: RaceOptions): Promise<void> {
  if (process.platform === 'win32') {
    throw new RaceError('The race stops processes with SIGSTOP, which Windows does not have.');
  }
  console.log(`${headingOf(options)}\n`);
  const progress = new Progress(process.stdout);
  const result = await race(options, progress, closing);
  await closing.closeAll();
  progress.end();
  console.log(shown(reportOf(result, styleFor(process.stdout))));
  const broken = brokenOf(result);
  if (broken > 0 && options.closer === 'delay-queue')
    console.error(shown(result.outputs.join('\n')));
  console.log(`\n${verdictOf(result, options)}`);
  process.exitCode = broken === 0 ? 0 : 1;
}

try {
  const options = parseCommandLine(process.argv.slice(2));
  if (options === 'help') console.log(USAGE);
  else await run(options);
} catch (error) {
  if (!closing.hasBegun) {
    process.exitCode = 2;
    if (error instanceof RaceUsageError) console.error(`${error.message}\n\n${USAGE}`);
    else console.error(shown(error instanceof RaceError ? error.message : inspect(error)));
  }
} finally {
  await closing.closeAll();
}
