import { MANNERS } from './manners.js';
import type { Kind, OddHandler } from './odd-handler.js';
import { PROMISES } from './promises.js';
import { OWN_ROWS, SESSIONS } from './sessions.js';
import { THROWS } from './throws.js';

/** An odd handler under the name that its delays have. */
export interface NamedOddHandler extends OddHandler {
  kind: Kind;
  name: `test.${string}`;
}

/** All of them, each as a plain and as a transactional one where it can be both. */
export const ODD_HANDLERS: readonly NamedOddHandler[] = [
  ...THROWS,
  ...PROMISES,
  ...MANNERS,
  ...SESSIONS,
  ...OWN_ROWS,
].flatMap((odd, number) =>
  (odd.kinds ?? (['plain', 'transactional'] as const)).map((kind) => ({
    ...odd,
    what: `${kind}: ${odd.what}`,
    kind,
    name: `test.${kind}.${number}` as const,
  })),
);
