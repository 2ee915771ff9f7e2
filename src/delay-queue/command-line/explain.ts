import type { DelayTarget } from '../api/selection.js';
import { printable } from '../api/error-text.js';
import { targetFrom } from './filter.js';
import { print } from './output.js';
import { type Arguments, WrongUsage } from './parse.js';
import { withSession } from './session.js';
import { type Context, EXIT, type ExitCode } from './terminal.js';

/** Why a delay has not fired. */
export async function explain(context: Context): Promise<ExitCode> {
  const which = whichFrom(context.given);
  const told = await withSession(context, ({ reading }) => reading.explain(which));
  print(context, told, () =>
    [
      `${told.reason}: ${printable(told.text)}`,
      ...told.also.map(({ reason, text }) => `also ${reason}: ${printable(text)}`),
    ].join('\n'),
  );
  return EXIT.DONE;
}

/** @throws WrongUsage */
function whichFrom(given: Arguments): DelayTarget {
  const ids = given.texts('id') ?? [];
  const target = targetFrom(given);
  const [id] = ids;
  if (ids.length + (target === undefined ? 0 : 1) !== 1) {
    throw new WrongUsage('explain needs NAME and KEY, or one --id');
  }
  return target ?? { id: id as string };
}
