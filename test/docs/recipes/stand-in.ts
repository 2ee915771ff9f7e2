/**
 * Stands in for a server that the tests do not have, and takes what is written here alone: a page that calls
 * anything else of its client fails, as it would on a client that has no such method.
 */
export function standIn<Methods extends object>(server: string, methods: Methods): Methods {
  return new Proxy(methods, {
    get(target, method, receiver) {
      if (Reflect.has(target, method)) return Reflect.get(target, method, receiver) as unknown;
      throw new Error(`what stands in for ${server} has no ${String(method)}`);
    },
  });
}

/** A sorted set, and the two commands on it as ioredis sends them and Redis answers or refuses them. */
export function sortedSetOf(zset: string, members: Map<string, number>, beforeRemoval: () => void) {
  return standIn('Redis', {
    zrange: async (key: string, min: number, max: number, ...options: string[]) => {
      if (!Number.isInteger(min) || !Number.isInteger(max)) {
        throw new Error('ERR value is not an integer or out of range');
      }
      if (options.some((option) => option !== 'WITHSCORES')) throw new Error('ERR syntax error');
      if (key !== zset) return [];
      const found = [...members]
        .toSorted(([, one], [, other]) => one - other)
        .slice(min, max + 1 || undefined);
      return found.flatMap(([member, score]) =>
        options.length > 0 ? [member, String(score)] : [member],
      );
    },
    zrem: async (key: string, ...given: string[]) => {
      if (given.length === 0) throw new Error("ERR wrong number of arguments for 'zrem' command");
      if (key !== zset) return 0;
      beforeRemoval();
      return given.filter((member) => members.delete(member)).length;
    },
  });
}

/** One queue of a broker, and a channel as amqplib has it: an error closes it for good. */
export function channelOf<Message extends object>(queue: string, waiting: Message[]) {
  const unacknowledged = new Set<Message>();
  let closed = false;
  const refuse = (why: string): never => {
    closed = true;
    throw new Error(why);
  };
  const mustBeOpen = (): void => {
    if (closed) throw new Error('Channel closed');
  };
  return standIn('RabbitMQ', {
    get: async (name: string) => {
      mustBeOpen();
      if (name !== queue) return refuse(`404 (NOT-FOUND) with message "no queue '${name}'"`);
      const message = waiting.shift();
      if (message === undefined) return false;
      unacknowledged.add(message);
      return message;
    },
    ack: (message: Message) => {
      mustBeOpen();
      if (!unacknowledged.delete(message)) {
        refuse('406 (PRECONDITION-FAILED) with message "unknown delivery tag"');
      }
    },
    /** What was not acknowledged goes back to the head of the queue. */
    close: async () => {
      mustBeOpen();
      closed = true;
      waiting.unshift(...unacknowledged);
    },
  });
}
