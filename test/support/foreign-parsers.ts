import { types } from 'pg';

/** Of these TypeORM reads the server's version and schema. */
const LEFT_ALONE: ReadonlySet<number> = new Set([
  types.builtins.TEXT,
  types.builtins.VARCHAR,
  19 /* name */,
]);

/** Of bool, int, text, bigint, float8 and timestamptz. */
const ARRAYS = [1000, 1007, 1009, 1016, 1022, 1185];

const OIDS = [...Object.values(types.builtins), ...ARRAYS]
  .filter((oid) => typeof oid === 'number')
  .filter((oid) => !LEFT_ALONE.has(oid));

/**
 * Does what applications do to `pg`, for the whole process and for every type but text: `numeric` as a Money,
 * `bigint` as a BigInt, instants as somebody's DateTime.
 *
 * @returns puts the parsers back
 */
export function parseOtherwise(): () => void {
  const before = OIDS.map((oid) => [oid, types.getTypeParser(oid)] as const);
  for (const oid of OIDS) types.setTypeParser(oid, (text: string) => ({ parsed: text }));
  return () => {
    for (const [oid, parser] of before) types.setTypeParser(oid, parser as never);
  };
}
