/*
 * What is written for the planner alone. It keeps plans of prepared statements, made for a table of a few rows and
 * arrays of ten, and may compare each with each when there are millions (ADR 0017). Each of these looks as if it
 * could be left out. Where a spec is named, it was seen to fail without.
 */

/**
 * True of all that `of` wants. The planner expects it of one in 200, and so goes to each row that was found by
 * its ctid; for thousands it would rather read the table. Proof: `test/integration/plans.spec.ts`.
 */
export const expectFew = (of: string): string => `${of}.id % 1::bigint = 0`;

/**
 * Condition for the row of the delay `d` that `of` has the id of, in an UPDATE or DELETE. As an equality it
 * could be a join that reads the whole table; this is an index look-up for each. Proof:
 * `test/integration/plans.spec.ts`, `test/integration/kept-plans.spec.ts`.
 */
export const isRowOf = (of: string): string => `d.id = ANY (ARRAY[${of}.id])`;

/**
 * What became of each of `input`. A FULL JOIN is hashed or merged, never one that compares each with each. No spec
 * tells it from a LEFT JOIN: the planner may compare each with each there, and does not in our tables.
 */
export const besideInput = (...ctes: [cte: string, alias: string][]): string =>
  ['input i', ...ctes.map(([cte, alias]) => `FULL JOIN ${cte} ${alias} USING (ord)`)].join(' ');

/**
 * At the end of a sub-select: it stays one, and is not merged with what is around it. Proof:
 * `test/integration/plans.spec.ts`.
 */
export const STAYS_APART = 'OFFSET 0';

/**
 * A condition of which the planner does not know how often it is true. It takes a bare `=` to keep one row in 200,
 * and to find a page of those it would read and sort the whole range instead of stopping at the LIMIT. No spec fails
 * without it.
 */
export const expectMany = (condition: string): string => `COALESCE(${condition}, false)`;
