import { once } from 'node:events';
import { get, type ClientRequest, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { Feed, FeedChange, OrderCard } from '../../../src/shop/feed/feed.js';
import { until } from '../../support/until.js';

/** One event as it came. */
export interface FeedEvent {
  event: string;
  data: unknown;
}

/** Watches the feed over a connection of its own, and keeps the picture that a page would show. */
export class FeedClient {
  readonly events: FeedEvent[] = [];
  feed: Feed | undefined;
  ended = false;

  private constructor(
    private readonly request: ClientRequest,
    readonly response: IncomingMessage,
  ) {
    response.once('close', () => (this.ended = true));
    response.on('error', () => {});
    let event = '';
    const lines = createInterface({ input: response });
    // A connection that ends in the middle is what is looked for here.
    lines.on('error', () => {});
    lines.on('line', (line) => {
      if (line.startsWith('event: ')) event = line.slice('event: '.length);
      else if (line.startsWith('data: '))
        this.#take(event, JSON.parse(line.slice('data: '.length)));
    });
  }

  /** @param localAddress where it comes from, as the shop sees it */
  static async open(url: string, localAddress = '127.0.0.1'): Promise<FeedClient> {
    const request = get(`${url}/feed`, { localAddress });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => {});
    return new FeedClient(request, response);
  }

  /** The picture, once it is as wanted. */
  async when(accept: (feed: Feed) => boolean): Promise<Feed> {
    const seen = await until(
      () => this.feed,
      (feed) => feed !== undefined && accept(feed),
    );
    return seen!;
  }

  /** That order's card, once it is as wanted. */
  async orderWhen(id: string, accept: (card: OrderCard) => boolean): Promise<OrderCard> {
    const find = (): OrderCard | undefined => this.feed?.orders.find((card) => card.id === id);
    const found = await until(find, (card) => card !== undefined && accept(card));
    return found!;
  }

  close(): void {
    this.request.destroy();
  }

  #take(event: string, data: unknown): void {
    this.events.push({ event, data });
    if (event === 'snapshot') this.feed = data as Feed;
    if (event === 'change') this.feed = merged(this.feed!, data as FeedChange);
  }
}

/** As `feed.ts` says it. */
function merged(feed: Feed, change: FeedChange): Feed {
  const { orders = [], happenings = [], ...whole } = change;
  const changed = new Set(orders.map(({ id }) => id));
  return {
    ...feed,
    ...whole,
    orders: [...orders, ...feed.orders.filter(({ id }) => !changed.has(id))].toSorted(
      (a, b) => b.no - a.no,
    ),
    happenings: [...happenings, ...feed.happenings],
  };
}
