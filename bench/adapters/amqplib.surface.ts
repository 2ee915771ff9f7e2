import type { Opaque } from './opaque.js';

/** What the bench uses of amqplib, which is not installed with the project. */
export interface AmqpPackage {
  connect: (url: string) => Promise<AmqpConnection>;
}

export interface AmqpConnection {
  on(event: 'error', listener: (error: Error) => void): unknown;
  createChannel(): Promise<AmqpChannel>;
  createConfirmChannel(): Promise<AmqpConfirmChannel>;
  close(): Promise<void>;
}

export interface AmqpChannel {
  on(event: 'error', listener: (error: Error) => void): unknown;
  assertExchange(name: string, type: 'direct', options: { durable: true }): Promise<unknown>;
  assertQueue(name: string, options: QueueOptions): Promise<unknown>;
  bindQueue(queue: string, exchange: string, routingKey: string): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  consume(queue: string, listener: (message: AmqpMessage | null) => void): Promise<unknown>;
  /** Has no answer: the protocol knows none. */
  ack(message: AmqpMessage): void;
  close(): Promise<void>;
}

export interface AmqpConfirmChannel extends AmqpChannel {
  sendToQueue(
    queue: string,
    content: Buffer,
    options: { persistent: true; headers: { dueMs: number } },
    confirmed: (error: Error | null) => void,
  ): boolean;
}

export interface AmqpMessage {
  content: Buffer;
  fields: Opaque;
  properties: { headers?: Record<string, unknown> };
}

interface QueueOptions {
  durable: true;
  arguments: Record<string, string | number>;
}
