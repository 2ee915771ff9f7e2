/** A call that has no answer yet. What comes first counts, an answer or an error. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
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
 * The error of a statement that many calls shared, as an object of this call's own: whoever catches
 * it may change it, and its stack leads to the caller. Class, message and fields are the same.
 *
 * To be called where the call's own `await` goes on, for there V8 knows who awaits it.
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
