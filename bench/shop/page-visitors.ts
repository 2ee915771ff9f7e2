import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Answers } from './answers.js';
import { type Answer, ShopClient } from './client.js';

const VISIT_EVERY_MS = 1_000;

/** An event, unlike a heartbeat or the time after which a browser connects again. */
const EVENT = /^event: .*\ndata: /m;

/** Those who look at the page while others order: one stays, and another comes each second, over a new connection. */
export class PageVisitors {
  /** Until the last byte of the document. */
  readonly pages = new Answers();
  /** Until the first event, which says all that the page shows. */
  readonly feeds = new Answers();
  #leave = new AbortController();
  #coming: Promise<unknown> = Promise.resolve();

  constructor(private readonly url: string) {}

  async come(): Promise<void> {
    this.#leave = new AbortController();
    const { signal } = this.#leave;
    // The one who stays.
    get(`${this.url}/feed`, { agent: false, signal }, (feed) => {
      feed.on('error', () => {}).resume();
    }).on('error', () => {});
    this.#coming = Promise.all([
      this.#eachSecond(this.pages, () => this.#page()),
      this.#eachSecond(this.feeds, () => this.#feed()),
    ]);
  }

  async leave(): Promise<void> {
    this.#leave.abort();
    await this.#coming;
  }

  /** Without `npm run build` the shop has no page, and none is visited. */
  async #eachSecond(answers: Answers, visit: () => Promise<Answer>): Promise<void> {
    const { signal } = this.#leave;
    if ((await visit()).status !== 200) return;
    while (!signal.aborted) {
      answers.note(await visit(), 200);
      await pause(VISIT_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  #page(): Promise<Answer> {
    const client = new ShopClient(this.url);
    return client.send('GET', '/').finally(() => client.close());
  }

  async #feed(): Promise<Answer> {
    const startedAtMs = performance.now();
    let [status, body] = [0, ''];
    try {
      const asked = get(`${this.url}/feed`, { agent: false });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      status = response.statusCode ?? 0;
      for await (const chunk of response.setEncoding('utf8')) {
        body += String(chunk);
        if (EVENT.test(body) && body.endsWith('\n\n')) break;
      }
      response.destroy();
    } catch (error) {
      [status, body] = [0, String(error)];
    }
    return { status, body, tookMs: performance.now() - startedAtMs };
  }
}
