import { DelayConfigError } from '../../delay/delay.errors.js';
import { strangersSql } from '../sql/owners/strangers.sql.js';
import type { AsText } from '../wire/answers.js';

type StrangerAnswer = AsText<'kind' | 'identity' | 'owner' | 'rightful'>;

/**
 * The owner of a table or a function decides what runs when it is used, with the rights of its users. So nothing of a
 * stranger's may stand where a table of ours should, nor beside them in the schema.
 *
 * @param migrates this role is to create the tables; else it uses them, and the owner of the schema has created them
 * @throws DelayConfigError that says what belongs to whom, and what to do
 */
export async function refuseStrangers(
  runner: { query(sql: string, parameters: unknown[]): Promise<unknown> },
  schema: string,
  migrates: boolean,
): Promise<void> {
  const found = (await runner.query(strangersSql(), [schema, migrates])) as StrangerAnswer[];
  const [first] = found;
  if (first === undefined) return;
  const { kind, identity, owner, rightful } = first;
  const others = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  const who = migrates ? 'the role that migrates' : 'the owner of the schema';
  const [belongs, mend] =
    kind === 'trigger'
      ? ['calls a function that belongs', `drop it, or ALTER FUNCTION … OWNER TO ${rightful}`]
      : ['belongs', `drop it, or ALTER ${kind.toUpperCase()} ${identity} OWNER TO ${rightful}`];
  throw new DelayConfigError(
    `${kind} ${identity} ${belongs} to the role ${owner}${others}, not to ${rightful}, ${who}: what ${owner} puts there ` +
      `would run with the rights of others. Look at it, and ${mend}. A role that has the rights of the owner is no ` +
      'stranger: GRANT the owner to the role that migrates',
  );
}
