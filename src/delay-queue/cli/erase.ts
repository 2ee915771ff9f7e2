import type { EraseCounts, EraseFilter } from '../core/index.js';
import { eraseFilter } from '../core/ops.js';
import { byFrom, filterFrom } from './filter.js';
import { grouped } from '../ops/checks/words.js';
import { confirm, print } from './output.js';
import { withSession } from './session.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** Counts first, asks, then erases page by page. */
export function erase(context: CommandContext): Promise<ExitCode> {
  const { given, terminal } = context;
  const filter = filterFrom(given) as EraseFilter;
  // Refused before anything is counted or asked.
  eraseFilter(filter);
  const told = (counts: EraseCounts, interrupted = false): void =>
    print(context, { ...counts, interrupted }, () => erasedSentence(counts));
  return withSession(context, async (session) => {
    const found = await session.reading.erase(filter, { dryRun: true });
    const count = found.erased + found.history + found.pauses + found.operations;
    if (given.has('dry-run') || count + found.running === 0) {
      told(found);
      return EXIT.DONE;
    }
    terminal.err(erasedSentence(found));
    const question = `Erase ${grouped(count)}? It cannot be undone.`;
    const refused = await confirm(context, question, 'Nothing was erased');
    if (refused !== undefined) return refused;
    return await terminal.interruptible(async (signal) => {
      let counts: EraseCounts = { erased: 0, running: 0, history: 0, pauses: 0, operations: 0 };
      const onProgress = (sofar: EraseCounts): void => void (counts = sofar);
      try {
        const admin = await session.changing();
        counts = await admin.erase(filter, { ...byFrom(given), signal, onProgress });
      } catch (error) {
        if (!signal.aborted || error !== signal.reason) throw error;
        told(counts, true);
        return EXIT.INTERRUPTED;
      }
      told(counts);
      return counts.running === 0 ? EXIT.DONE : EXIT.FAILED;
    });
  });
}

/** `12 live, 40 of history, 0 pauses, 2 operations; 1 runs and is left.` */
function erasedSentence({ erased, running, history, pauses, operations }: EraseCounts): string {
  const parts = [
    `${grouped(erased)} live`,
    `${grouped(history)} of history`,
    `${grouped(pauses)} pauses`,
    `${grouped(operations)} operations`,
  ];
  const left = running === 0 ? '' : `; ${grouped(running)} running and left`;
  return `${parts.join(', ')}${left}.`;
}
