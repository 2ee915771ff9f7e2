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
