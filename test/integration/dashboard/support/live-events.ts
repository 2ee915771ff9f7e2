import type { LiveEvents } from '../../../../src/delay-queue/dashboard/contract.js';
import type { DashboardApp } from '../../../support/dashboard-app.js';

type EventName = keyof LiveEvents;

/** One viewer's stream. */
export class LiveEventsReader {
  readonly #chunks: AsyncIterator<string>;
  #text = '';

  private constructor(
    response: Response,
    private readonly gone: AbortController,
  ) {
    const decoded = response.body?.pipeThrough(new TextDecoderStream() as never);
    this.#chunks = (decoded as ReadableStream<string>)[Symbol.asyncIterator]();
  }

  static async open(
    dashboard: DashboardApp,
    headers: Record<string, string> = {},
  ): Promise<LiveEventsReader> {
    const gone = new AbortController();
    const url = new URL('api/live', dashboard.url);
    const response = await fetch(url, { headers, signal: gone.signal });
    if (response.status !== 200) throw new Error(`the stream answered ${response.status}`);
    return new LiveEventsReader(response, gone);
  }

  /** The next event of that name that matches. @throws when the stream ends */
  async next<Name extends EventName>(
    name: Name,
    matches: (data: LiveEvents[Name]) => boolean = () => true,
  ): Promise<LiveEvents[Name]> {
    for (;;) {
      const [event, data] = await this.#event();
      if (event !== name) continue;
      const parsed = JSON.parse(data ?? 'null') as LiveEvents[Name];
      if (matches(parsed)) return parsed;
    }
  }

  /** Resolves when the server has ended the stream. */
  async end(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }

  close(): void {
    this.gone.abort();
  }

  async #event(): Promise<[event: string | undefined, data: string | undefined]> {
    while (!this.#text.includes('\n\n')) {
      const { value, done } = await this.#chunks.next();
      if (done) throw new Error('the stream has ended');
      this.#text += value;
    }
    const [block = '', ...rest] = this.#text.split('\n\n');
    this.#text = rest.join('\n\n');
    const lines = new Map(
      block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]),
    );
    return [lines.get('event'), lines.get('data')];
  }
}
