/** A call that has no answer yet. The first answer or error counts, later ones are ignored. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
  readonly madeAtMs = performance.now();
  /** It is in a statement: from then on it may have happened. */
  isSent = false;
  #isAnswered = false;
  #resolve!: (answer: Answer) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly call: Call,
    private readonly onAnswered: () => void,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  resolve(answer: Answer): void {
    if (this.#isAnswered) return;
    this.#resolve(answer);
    this.#answered();
  }

  reject(error: unknown): void {
    if (this.#isAnswered) return;
    this.#reject(error);
    this.#answered();
  }

  #answered(): void {
    this.#isAnswered = true;
    this.onAnswered();
  }
}

/**
 * A copy, for one call, of the error of a statement that many calls shared: the caller may change it, and its
 * stack leads to that caller. Class, message and fields are the same.
 *
 * To be called right after the call's own `await`: only there V8 knows which code awaits the call.
 */
export function ownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const own = new Error(error.message);
  Error.captureStackTrace(own, ownError);
  const frames = own.stack?.slice(String(own).length) ?? '';
  Object.setPrototypeOf(own, Object.getPrototypeOf(error) as object);
  for (const [field, property] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
    if (field !== 'stack') Object.defineProperty(own, field, property);
  }
  own.stack = `${String(own)}${frames}`;
  return own;
}
