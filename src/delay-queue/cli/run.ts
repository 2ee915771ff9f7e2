import { generalHelp, commandHelp } from './help.js';
import { toFailure, passwordsIn, withoutPasswords } from './failures.js';
import { type CommandName } from './commands.js';
import { PROGRAM } from '../ops/checks/words.js';
import { type Arguments, parse } from './parse.js';
import { EXIT, type CommandContext, type ExitCode, type Run } from './terminal.js';

/** Loaded when it runs: help, and refusals of wrong usage, need no TypeORM. */
const LOADED: Readonly<Record<CommandName, () => Promise<Run>>> = {
  migrate: async () => (await import('./migrate.js')).migrate,
  status: async () => (await import('./reads.js')).status,
  list: async () => (await import('./reads.js')).list,
  explain: async () => (await import('./reads.js')).explain,
  story: async () => (await import('./reads.js')).story,
  nodes: async () => (await import('./reads.js')).nodes,
  cancel: async () => (await import('./changes.js')).cancel,
  erase: async () => (await import('./erase.js')).erase,
  retry: async () => (await import('./changes.js')).retry,
  'run-now': async () => (await import('./changes.js')).runNow,
  reschedule: async () => (await import('./changes.js')).reschedule,
  pause: async () => (await import('./pauses.js')).pause,
  resume: async () => (await import('./pauses.js')).resume,
  dashboard: async () => (await import('./dashboard.js')).dashboard,
  doctor: async () => (await import('./doctor.js')).doctor,
};

/** Runs one command line. Never rejects: what goes wrong is printed, without passwords. */
export async function run(
  args: readonly string[],
  { environment, terminal, version }: Omit<CommandContext, 'given'>,
): Promise<ExitCode> {
  let given: Arguments | undefined;
  try {
    given = parse(args[0] === 'help' ? [...args.slice(1), '--help'] : args);
    const { command } = given;
    if (given.has('version')) terminal.out(version);
    else if (given.has('help')) {
      terminal.out(command === undefined ? generalHelp() : commandHelp(command));
    } else if (command === undefined) {
      terminal.err(generalHelp());
      return EXIT.WRONG_USAGE;
    } else {
      const runCommand = await LOADED[command as CommandName]();
      return await runCommand({ given, environment, terminal, version });
    }
    return EXIT.DONE;
  } catch (error) {
    const { text, exitCode } = toFailure(error, given?.text('schema') ?? 'delay_queue');
    const url = given?.text('url') ?? environment['DATABASE_URL'];
    const secrets = [...passwordsIn(url), environment['PGPASSWORD'] ?? ''];
    terminal.err(`${PROGRAM}: ${withoutPasswords(text, secrets)}`);
    return exitCode;
  }
}
