/** A call that has no answer yet. The first answer or error counts, later ones are ignored. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
  readonly madeAtMs = performance.now();
  /** Part of a sent statement: from then on the call may have happened. */
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
 * Copies the error of a shared statement for one of its calls. The caller may change the copy, and
 * its stack leads to that caller. Class, message and fields are the same.
 *
 * Call it right after the call's own `await`: only there V8 knows which code awaits the call.
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
