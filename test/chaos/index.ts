/** `npm run chaos`: many processes, many faults, and a verdict over everything that happened. */
import { commandOf, parseCommandLine, type Settings, USAGE, UsageError } from './command-line.js';
import { DEFAULTS } from './options.js';
import { reportOf, violationsOf } from './report/report.js';
import { runChaos } from './run.js';

const stopping = new AbortController();
const progress = (line: string): void => void process.stderr.write(`${line}\n`);

const STATUS_OF_SIGNAL = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

for (const [signal, status] of Object.entries(STATUS_OF_SIGNAL)) {
  // A second one is not needed and changes nothing.
  process.on(signal, () => {
    if (stopping.signal.aborted) return;
    progress('\nstopping what was started …');
    process.exitCode = status;
    stopping.abort();
  });
}

async function chaos(settings: Settings): Promise<void> {
  progress(commandOf(settings));
  const told = await runChaos({
    ...DEFAULTS,
    ...settings,
    log: progress,
    signal: stopping.signal,
    keepsEvidence: true,
  });
  console.log(reportOf(told, settings.faults, commandOf(settings)));
  if (told.evidence) console.log(`Logs, output and the record: ${told.evidence}`);
  if (violationsOf(told) > 0) process.exitCode = 1;
}

try {
  const settings = parseCommandLine(process.argv.slice(2));
  if (settings === 'help') console.log(USAGE);
  else await chaos(settings);
} catch (error) {
  if (error instanceof UsageError) progress(`${error.message}\n\n${USAGE}`);
  else if (!stopping.signal.aborted) {
    progress(error instanceof Error ? String(error.stack) : String(error));
  }
  process.exitCode ??= 1;
}
