import { FrameReader, HEAD_BYTES, type Message } from './frames.js';

/** What goes on to the other side, and whether the connection is cut behind it. */
export interface Passed {
  chunk: Buffer;
  cut: boolean;
}

/** Where the next COMMIT is cut off. */
export type CutAt = 'before commit' | 'after commit';

/** Codes that stand where a startup message has its version. */
const CANCEL = 80_877_102;
const TLS = 80_877_103;
const GSS = 80_877_104;

const COMMIT = /^\s*(?:COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?\s*;?\s*$/i;
/** COMMIT of a transaction in which a statement has failed is answered with ROLLBACK. */
const ANSWERS = /^(?:COMMIT|ROLLBACK)\0/;

/** Messages that the server answers up to a ReadyForQuery, in turn: Query, Sync, FunctionCall. */
const TURN = new Set(['Q', 'S', 'F']);

/**
 * Follows one connection and cuts it at a COMMIT: a message Query or Parse with that text and nothing
 * else, which is what drivers send. (A prepared COMMIT that runs a second time is not seen.)
 *
 * Before: the message stays incomplete, so that the server cannot run it. After: the server has said
 * that it is done, and the client does not hear it.
 */
export class CommitWatch {
  readonly #client = new FrameReader(false);
  readonly #server = new FrameReader(true);
  /** The first turn is the login's. */
  #turnsAsked = 1;
  #turnsDone = 0;
  /** The turn in which the COMMIT that is to be cut gets its answer. */
  #awaited: number | undefined;

  /** @param take tells once where to cut, to the first connection that asks at a COMMIT */
  constructor(private readonly take: () => CutAt | undefined) {}

  fromClient(chunk: Buffer): Passed {
    for (const message of this.#client.read(chunk)) {
      if (message.type === '') this.#opening(message);
      if (TURN.has(message.type)) this.#turnsAsked += 1;
      if (!isCommit(message)) continue;
      const cutAt = this.take();
      if (cutAt === 'before commit')
        return { chunk: chunk.subarray(0, message.startsAt), cut: true };
      // A Parse is answered in the turn of the Sync behind it.
      if (cutAt) this.#awaited = this.#turnsAsked + (message.type === 'P' ? 1 : 0);
    }
    return { chunk, cut: false };
  }

  fromServer(chunk: Buffer): Passed {
    for (const message of this.#server.read(chunk)) {
      if (message.type === 'Z') this.#turnsDone += 1;
      if (this.#awaited === this.#turnsDone + 1 && isAnswer(message)) {
        return { chunk: chunk.subarray(0, message.startsAt), cut: true };
      }
    }
    return { chunk, cut: false };
  }

  #opening({ head }: Message): void {
    const code = head.length < 4 ? 0 : head.readUInt32BE(0);
    // "No", says a server without TLS, and the client begins again.
    if (code === TLS || code === GSS) this.#server.expectBareByte();
    else if (code !== CANCEL) this.#client.expectTypes();
  }
}

function isCommit({ type, bytes, head }: Message): boolean {
  if ((type !== 'Q' && type !== 'P') || bytes > HEAD_BYTES) return false;
  const [first = '', second = ''] = head.toString('utf8').split('\0');
  return COMMIT.test(type === 'P' ? second : first);
}

/** An error is an answer too: the client does not hear that either. */
function isAnswer({ type, head }: Message): boolean {
  return type === 'E' || (type === 'C' && ANSWERS.test(head.toString('latin1')));
}
