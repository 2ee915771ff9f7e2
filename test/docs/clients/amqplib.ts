/** What `docs/recipes` uses of amqplib, which is not installed with the project. */
export interface Channel {
  get(queue: string): Promise<GetMessage | false>;
  ack(message: GetMessage): void;
}

export interface GetMessage {
  content: Buffer;
  fields: any;
  properties: any;
}
