/** The delays of `endurance`: of each three one is cancelled, one runs by itself, one changes a row with its attempt. */
export const PLAIN = 'endurance.plain';
export const CLOSE = 'endurance.close';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'endurance.plain': { n: number };
    'endurance.close': { n: number };
  }
}

/** Rows that transactional handlers change, in turn. */
export const ITEMS_MAX = 100_000;
export const ITEMS = {
  create: `CREATE TABLE bench_item AS SELECT n, false AS is_closed FROM generate_series(0, ${ITEMS_MAX - 1}) AS n;
    ALTER TABLE bench_item ADD PRIMARY KEY (n)`,
  close: 'UPDATE bench_item SET is_closed = true WHERE n = $1',
};

export type Name = typeof PLAIN | typeof CLOSE;

/** Cancelled ones have either name. */
export const nameOf = (n: number): Name => (n % 6 < 3 ? PLAIN : CLOSE);

export const isCancelled = (n: number): boolean => n % 3 === 0;

/** How far ahead delays are scheduled, spread evenly, in seconds. */
export interface Ahead {
  fromS: number;
  toS: number;
}

/**
 * What stands in the table when delays have come at that rate for ever, so that the first minute is like the last:
 * those that were scheduled before it and fall due after it. Their numbers are below zero. Parameters: rate, from_s,
 * to_s, begins_in_s.
 */
export const FILL = `
  INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
  SELECT CASE WHEN i % 6 < 3 THEN '${PLAIN}' ELSE '${CLOSE}' END, 'before ' || i,
         jsonb_build_object('n', -i), at, at, now()
  FROM generate_series(1, $1::int * $3::int) AS i,
       LATERAL (SELECT $2::float8 + ($3::float8 - $2::float8) * random() - i / $1::float8) AS w(due_in),
       LATERAL (SELECT date_trunc('milliseconds', now() + ($4::float8 + due_in) * interval '1 s')) AS d(at)
  WHERE i % 3 <> 0 AND due_in > 0`;
