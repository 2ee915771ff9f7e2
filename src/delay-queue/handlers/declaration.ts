import type { DelayRepeat } from '../delay/time/repeat.js';
import type { Payloads } from '../payloads/payloads.js';
import { checkKnownOptions } from '../validation/known-options.js';
import { checkKey, checkName } from '../validation/names.js';
import { checkRepeat, REPEAT_OPTIONS } from '../validation/repeat.js';

/** A delay that recurs, as the code declares it. */
export interface Declaration {
  name: string;
  key: string;
  /** JSON text, as it is stored. */
  payload: string;
  repeat: DelayRepeat;
}

/** The key of one that is declared without. */
export const KEY_DEFAULT = 'repeat';

const OPTIONS = [...REPEAT_OPTIONS, 'key', 'payload'];

/**
 * @returns a promise only if a schema or the codec answers one
 * @throws DelayInvalidError naming the option, or the path of what does not fit into the payload's schema;
 * DelayCodecError; and what the schema throws
 */
export function declarationOf(
  name: unknown,
  options: unknown,
  payloads: Payloads,
): Declaration | Promise<Declaration> {
  const given = checkKnownOptions(options, 'options', OPTIONS);
  const { key = KEY_DEFAULT, payload = null } = given;
  const owner = { name: checkName(name), key: checkKey(key) };
  const json = payloads.jsonOf(payload);
  const repeat = checkRepeat(given);
  const stored = payloads.stored(json, owner);
  if (!(stored instanceof Promise)) return { ...owner, payload: stored, repeat };
  return stored.then((text) => ({ ...owner, payload: text, repeat }));
}
