/**
 * Live delays 1 to 7 and ended ones 11 to 14: of three names, two groups, all states, two keys that
 * are one text, and errors with odd characters.
 */
export const PLANTED = String.raw`
  INSERT INTO delay_queue.delay
    (name, key, group_id, due_at, wake_at, created_at, attempts, leased_until, leased_by, last_error, payload, headers)
  VALUES
    ('order.close', '42', 'eu', now() + interval '3 h', now() + interval '3 h', now(), 0, NULL, NULL, NULL,
     '{"n": 12345678901234567890}', NULL),
    ('order.rate', '42', 'us', now() + interval '2 h', now() + interval '2 h', now(), 0, NULL, NULL, NULL, '2', '{"lang":"de"}'),
    ('order.close', '43', 'us', now() - interval '1 h', now() + interval '1 h', now(), 2, NULL, NULL,
     E'Error: 100% "odd" \\_\n  at a', '3', NULL),
    ('order.close', '44', NULL, now() - interval '2 h', now() - interval '2 h', now(), 1, now() + interval '1 d', 'other',
     NULL, '4', NULL),
    ('mail', NULL, 'eu', now() - interval '1 d', 'infinity', now(), 3, NULL, NULL, E'Error: 100% "odd" \\_ more', '5', NULL),
    ('mail', NULL, 'eu', now() - interval '1 d', 'infinity', now(), 3, NULL, NULL, NULL, '6', NULL),
    ('eu', '1', NULL, now() + interval '1 d', now() + interval '1 d', now(), 0, NULL, NULL, NULL, '7', NULL);
  INSERT INTO delay_queue.history
    (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, group_id, node, error, ended_by, lateness_ms)
  VALUES
    (11, now() - interval '4 d', now(), now(), 1, 1, 'completed', 'order.close', '42', 'eu', 'n', NULL, NULL, 7.5),
    (12, now() - interval '3 d', now(), now(), 1, 0, 'cancelled', 'order.close', '41', 'eu', NULL, NULL, 'ann', NULL),
    (13, now() - interval '2 d', now(), now(), 1, 3, 'discarded', 'mail', NULL, NULL, NULL, 'Error: gone', 'ann', NULL),
    (14, now() - interval '1 h', now(), now(), 1, 3, 'completed', 'mail', NULL, 'us', 'n', NULL, NULL, 1)`;
