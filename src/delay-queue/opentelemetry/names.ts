/*
 * Names of the semantic conventions for messaging, version 1.44, which are in development, and names
 * of our own.
 * https://github.com/open-telemetry/semantic-conventions/tree/v1.44.0/docs/messaging
 */

/** Name of the tracer and the meter. */
export const SCOPE = 'nestjs-delay-queue';

export const SYSTEM = 'nestjs_delay_queue';

export const ATTRIBUTES = {
  system: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  messageId: 'messaging.message.id',
  clientId: 'messaging.client.id',
  batchCount: 'messaging.batch.message_count',
  errorType: 'error.type',
  key: `messaging.${SYSTEM}.message.key`,
  group: `messaging.${SYSTEM}.message.group`,
  attempt: `messaging.${SYSTEM}.attempt`,
  lateness: `messaging.${SYSTEM}.lateness`,
  verdict: `messaging.${SYSTEM}.verdict`,
  outcome: `messaging.${SYSTEM}.outcome`,
  statement: `messaging.${SYSTEM}.statement`,
  heldBy: `messaging.${SYSTEM}.held_by`,
  served: `messaging.${SYSTEM}.served`,
  reason: `messaging.${SYSTEM}.reason`,
  status: `messaging.${SYSTEM}.status`,
  state: `messaging.${SYSTEM}.connection.state`,
} as const;

/** Times are in seconds. */
export const METRICS = {
  processDuration: 'messaging.process.duration',
  operationDuration: 'messaging.client.operation.duration',
  sent: 'messaging.client.sent.messages',
  consumed: 'messaging.client.consumed.messages',
  lateness: `messaging.${SYSTEM}.lateness`,
  attempts: `messaging.${SYSTEM}.attempts`,
  skipped: `messaging.${SYSTEM}.skipped`,
  statements: `messaging.${SYSTEM}.statements`,
  statementRows: `messaging.${SYSTEM}.statement.rows`,
  running: `messaging.${SYSTEM}.running`,
  concurrency: `messaging.${SYSTEM}.concurrency`,
  ready: `messaging.${SYSTEM}.ready`,
  watched: `messaging.${SYSTEM}.watched`,
  loadAge: `messaging.${SYSTEM}.load.age`,
  overdue: `messaging.${SYSTEM}.overdue`,
  oldestOverdue: `messaging.${SYSTEM}.overdue.oldest`,
  dueSoon: `messaging.${SYSTEM}.due_within_minute`,
  deadLetters: `messaging.${SYSTEM}.dead_letters`,
  unhealthy: `messaging.${SYSTEM}.unhealthy`,
  connections: `messaging.${SYSTEM}.connections`,
} as const;

/** Buckets of the conventions. */
export const DURATION_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

/** From a millisecond, which a node on time keeps to, up to an hour of standing still. */
export const LATENESS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 600, 3_600,
];
