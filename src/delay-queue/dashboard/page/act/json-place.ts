export interface Place {
  line: number;
  column: number;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR =
  /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Found here because each browser words it differently, or not at all. @returns null: it is JSON */
export function placeOfError(json: string): Place | null {
  const scanner = new Scanner(json);
  if (scanner.value() && scanner.isAtEnd()) return null;
  const before = json.slice(0, scanner.at).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

class Scanner {
  at = 0;

  constructor(private readonly text: string) {}

  value(): boolean {
    this.#take(SPACE);
    const first = this.text[this.at];
    if (first === '{') return this.#list('}', () => this.#member());
    if (first === '[') return this.#list(']', () => this.value());
    return this.#take(SCALAR);
  }

  isAtEnd(): boolean {
    this.#take(SPACE);
    return this.at === this.text.length;
  }

  #member(): boolean {
    this.#take(SPACE);
    if (this.text[this.at] !== '"' || !this.#take(SCALAR)) return false;
    return this.#sign(':') && this.value();
  }

  #list(end: string, one: () => boolean): boolean {
    this.at += 1;
    if (this.#sign(end)) return true;
    do {
      if (!one()) return false;
    } while (this.#sign(','));
    return this.#sign(end);
  }

  #sign(sign: string): boolean {
    this.#take(SPACE);
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  #take(token: RegExp): boolean {
    token.lastIndex = this.at;
    if (!token.test(this.text)) return false;
    this.at = token.lastIndex;
    return true;
  }
}
