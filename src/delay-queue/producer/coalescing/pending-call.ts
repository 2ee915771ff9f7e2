/** A call, and whoever awaits its answer; what comes first counts, an answer or an error. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
  #isSettled = false;
  #resolve!: (answer: Answer) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly call: Call,
    private readonly onSettled: () => void,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  resolve(answer: Answer): void {
    if (this.#isSettled) return;
    this.#resolve(answer);
    this.#settled();
  }

  reject(error: unknown): void {
    if (this.#isSettled) return;
    this.#reject(error);
    this.#settled();
  }

  #settled(): void {
    this.#isSettled = true;
    this.onSettled();
  }
}
