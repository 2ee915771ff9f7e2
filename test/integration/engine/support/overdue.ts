interface Overdue {
  secondsAgo?: number;
  group?: string | null;
}

/** Delays of one name that have been due for a while, all since the same moment: a text and its parameters. */
export const insertOverdue = (
  name: string,
  count: number,
  { secondsAgo = 60, group = null }: Overdue = {},
): [sql: string, parameters: unknown[]] => [
  `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
   SELECT $1, 'null', at, at, at, $4
   FROM generate_series(1, $2::int),
        LATERAL (SELECT now() - $3::int * interval '1 second' AS at) AS due`,
  [name, count, secondsAgo, group],
];
