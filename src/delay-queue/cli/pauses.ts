import { type DelayName, type DelayPause, type PauseOptions, printable } from '../core/index.js';
import { parsePause } from '../core/ops.js';
import { byFrom, instantFrom } from './filter.js';
import { print } from './output.js';
import { type Arguments, WrongUsage } from './parse.js';
import { withSession } from './session.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** Pauses a name, or a group of it. */
export async function pause(context: CommandContext): Promise<ExitCode> {
  const { given } = context;
  const options = { ...pauseFrom(given), ...byFrom(given) };
  parsePause(given.positional[0], options);
  const made = await withSession(context, async (session) =>
    (await session.changing()).pause(given.positional[0] as DelayName, options),
  );
  print(context, { pause: made }, () => {
    const until = made.until === null ? 'it is resumed' : made.until.toISOString();
    return `${scopeText(made)} is paused until ${until}. What runs goes on.`;
  });
  return EXIT.DONE;
}

/** @throws WrongUsage */
function pauseFrom(given: Arguments): PauseOptions {
  const until = instantFrom(given, 'until');
  const duration = given.text('for');
  if (until !== undefined && duration !== undefined) {
    throw new WrongUsage('give either --for or --until, not both');
  }
  const [group, reason] = [given.text('group'), given.text('reason')];
  return {
    ...(group !== undefined && { group }),
    ...(reason !== undefined && { reason }),
    ...(until !== undefined && { until }),
    ...(duration !== undefined && { for: duration }),
  } as PauseOptions;
}

/** Ends a pause. */
export async function resume(context: CommandContext): Promise<ExitCode> {
  const { given } = context;
  const [name] = given.positional as [DelayName];
  const group = given.text('group');
  const ended = await withSession(context, async (session) =>
    (await session.changing()).resume(name, {
      ...byFrom(given),
      ...(group !== undefined && { group }),
    }),
  );
  print(context, { resumed: ended }, () =>
    ended === null
      ? `${scopeText({ name, group: group ?? null })} was not paused.`
      : `${scopeText(ended)} is resumed: what is overdue starts.`,
  );
  return ended === null ? EXIT.FAILED : EXIT.DONE;
}

const scopeText = ({ name, group }: Pick<DelayPause, 'name' | 'group'>): string =>
  printable(group === null ? name : `The group ${group} of ${name}`);
