import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { Answers } from './answers.js';

const VISIT_EVERY_MS = 1_000;

/** An event, unlike a heartbeat or the time after which a browser connects again. */
const EVENT = /^event: .*\ndata: /m;

/** Those who look at the page while others order: one stays, and another comes each second. */
export class PageVisitors {
  /** Until the last byte of the document. */
  readonly pages = new Answers();
  /** Until the first event, which says all that the page shows. */
  readonly feeds = new Answers();
  #leave = new AbortController();
  #coming: Promise<unknown> = Promise.resolve();

  constructor(private readonly url: string) {}

  /** None come to a shop that has no page. */
  async come(): Promise<void> {
    this.#leave = new AbortController();
    const [page, feed] = [await this.#open('/'), await this.#open('/feed')];
    page.destroy();
    if (page.statusCode === 200) this.#coming = this.#eachSecond(() => this.#visitPage());
    if (feed.statusCode !== 200) return void feed.destroy();
    // The one who stays.
    feed.on('error', () => {}).resume();
    this.#leave.signal.addEventListener('abort', () => feed.destroy());
    this.#coming = Promise.all([this.#coming, this.#eachSecond(() => this.#visitFeed())]);
  }

  async leave(): Promise<void> {
    this.#leave.abort();
    await this.#coming;
  }

  async #eachSecond(visit: () => Promise<void>): Promise<void> {
    while (!this.#leave.signal.aborted) {
      await visit();
      await pause(VISIT_EVERY_MS, undefined, { signal: this.#leave.signal }).catch(() => {});
    }
  }

  async #visitPage(): Promise<void> {
    await noted(this.pages, async () => {
      const response = await this.#open('/');
      await text(response);
      return response.statusCode;
    });
  }

  async #visitFeed(): Promise<void> {
    await noted(this.feeds, async () => {
      const response = await this.#open('/feed');
      let received = '';
      for await (const chunk of response.setEncoding('utf8')) {
        received += String(chunk);
        if (EVENT.test(received) && received.endsWith('\n\n')) break;
      }
      response.destroy();
      return response.statusCode;
    });
  }

  /** Over a connection of its own, as a visitor who has just come. */
  async #open(path: string): Promise<IncomingMessage> {
    const [response] = (await once(get(this.url + path, { agent: false }), 'response')) as [
      IncomingMessage,
    ];
    return response;
  }
}

async function noted(answers: Answers, visit: () => Promise<number | undefined>): Promise<void> {
  const startedAtMs = performance.now();
  let [status, body] = [0, ''];
  try {
    status = (await visit()) ?? 0;
  } catch (error) {
    body = String(error);
  }
  answers.note({ status, body, tookMs: performance.now() - startedAtMs }, 200);
}
