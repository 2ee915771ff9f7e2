/** Delays of one name, due a minute ago. Parameters: how many, name. */
export const INSERT_OVERDUE = `
  INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
  SELECT $2, 'null', at, at, at
  FROM generate_series(1, $1::int), LATERAL (SELECT now() - interval '1 minute' AS at) AS due`;
