import { z } from 'zod';
import { InvalidRequest } from './invalid-request.js';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
const WRONG_LIMIT = `must be a whole number from 1 to ${LIMIT_MAX}`;

/** Rows of a page; a text, like everything in a query. */
export const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, WRONG_LIMIT)
  .transform(Number)
  .refine((given) => given <= LIMIT_MAX, WRONG_LIMIT)
  .optional()
  .meta({ description: `At most ${LIMIT_MAX}; default ${LIMIT_DEFAULT}`, example: '20' });

/** The `after` of the next page. */
export const next = z
  .string()
  .nullable()
  .meta({ description: '`after` of the page that follows; `null`: this was the last one' });

/** The part of TypeORM's ordered `SelectQueryBuilder` that is used here. */
interface Rows<Row> {
  andWhere(condition: string, parameters: object): unknown;
  limit(rows: number): { getMany(): Promise<Row[]> };
}

/**
 * A page by keyset: rows that are added meanwhile move nothing from one page to another.
 *
 * @param isAfter condition for the rows behind the one whose id is `:after`
 */
export async function pageOf<Row extends { id: string }>(
  rows: Rows<Row>,
  isAfter: string,
  {
    after,
    limit: size = LIMIT_DEFAULT,
  }: { after?: string | undefined; limit?: number | undefined },
): Promise<{ rows: Row[]; next: string | null }> {
  if (after !== undefined) rows.andWhere(isAfter, { after });
  // One more, to see whether another page follows.
  const found = await rows.limit(size + 1).getMany();
  const page = found.slice(0, size);
  return { rows: page, next: found.length > size ? page.at(-1)!.id : null };
}

export const unknownAfter = (): InvalidRequest =>
  new InvalidRequest({
    field: 'after',
    message: 'must be the id of one that was on a page before',
  });
