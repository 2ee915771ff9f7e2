import { Client } from 'pg';
import { STATEMENTS, type StatementName } from './statements.js';

/**
 * What a mutant does to the engine: planned first, so that a plan which no longer fits the code fails
 * in the gate, and performed in the processes of a run alone.
 */
export class Surgery {
  /** The statement as it is, and as it goes out instead. */
  readonly texts = new Map<string, string>();
  readonly #cuts: (() => void)[] = [];

  /**
   * Another text for a statement, wherever a connection sends it.
   * @throws when a part that is to be replaced is not in it any more
   */
  rewrite(name: StatementName, changes: Record<string, string>): void {
    for (const original of STATEMENTS[name]) {
      let text = this.texts.get(original) ?? original;
      for (const [part, instead] of Object.entries(changes)) {
        if (!text.includes(part))
          throw new Error(`the statement ${name} has no "${part}" any more`);
        text = text.replaceAll(part, instead);
      }
      this.texts.set(original, text);
    }
  }

  /**
   * Another method in the place of one, around what was wrapped before.
   * @throws when there is no such method any more
   */
  wrap<Owner extends object, Name extends keyof Owner & string>(
    prototype: Owner,
    name: Name,
    around: (original: Owner[Name]) => Owner[Name],
  ): void {
    const method: unknown = prototype[name];
    if (typeof method !== 'function') throw new Error(`there is no method ${name} any more`);
    this.#cuts.push(() => {
      // As it is by then: two cuts at one method both take effect.
      prototype[name] = around(prototype[name]);
    });
  }

  /** Something of this process, before it opens its first connection. */
  prepare(cut: () => void): void {
    this.#cuts.push(cut);
  }

  perform(): void {
    for (const cut of this.#cuts) cut();
    if (this.texts.size > 0) rewriteOnTheWayOut(this.texts);
  }
}

/** All goes through `pg`: the engine's connections, and the application's by way of TypeORM. */
function rewriteOnTheWayOut(texts: ReadonlyMap<string, string>): void {
  const prototype = Client.prototype as unknown as { query: (...all: unknown[]) => unknown };
  const { query } = prototype;
  prototype.query = function rewritten(this: unknown, first: unknown, ...rest: unknown[]) {
    return query.call(this, rewrittenQuery(texts, first), ...rest);
  };
}

/** What goes out for what a client is asked: a text, or an object with one, as prepared statements are. */
function rewrittenQuery(texts: ReadonlyMap<string, string>, asked: unknown): unknown {
  if (typeof asked === 'string') return texts.get(asked) ?? asked;
  if (typeof asked !== 'object' || asked === null || !('text' in asked)) return asked;
  const text = texts.get(String(asked.text));
  return text === undefined ? asked : { ...asked, text };
}
