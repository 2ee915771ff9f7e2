import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { InvariantsWatch } from '../invariants/invariants.watch.js';
import { remindersOf, type RemindedMerchant } from '../merchants/merchants.sql.js';
import { unknownOrder } from '../orders/order.moves.js';
import { Processes } from '../processes/processes.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { campaignCards } from './campaign-cards.js';
import {
  CAMPAIGNS_MAX,
  HAPPENINGS_MAX,
  ORDERS_MAX,
  type Feed,
  type Happening,
  type MessageCard,
  type OrderCard,
  type SkuCard,
} from './feed.js';
import { FEED, NOW, PICTURE, type Part } from './feed.sql.js';
import { LatenessCount, type Fired } from './lateness.js';
import { modeOf } from './mode.js';
import { orderCard } from './order-card.js';
import { pictureOf } from './picture.js';
import { isNews } from './timeline.js';

/**
 * An instant on the database's clock. The snapshot's text stays the same until something commits.
 */
export interface Instant {
  now: Date;
  snapshot: string;
}

/** Reads what the feed sends. */
@Injectable()
export class FeedReader {
  readonly #lateness: LatenessCount;
  /** From the last poll, by the row that they were made of: most orders have not changed. */
  #cards = new Map<string, OrderCard>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly processes: Processes,
    private readonly checks: InvariantsWatch,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {
    this.#lateness = new LatenessCount(processes.shopStartedAt);
  }

  async now(): Promise<Instant> {
    const [instant] = await this.dataSource.query<Instant[]>(NOW);
    return instant!;
  }

  /** Stays the same as long as there is nothing new to read. */
  versionAt({ now, snapshot }: Instant): string {
    this.checks.keepUp(now);
    return JSON.stringify([snapshot, this.processes.list(), this.checks.latest?.checkedAt]);
  }

  /** Everything at one snapshot, except invariants and campaigns, which have their own. */
  async read({ now }: Instant): Promise<Feed> {
    const wanted = this.#lateness.wanted(now);
    const rows = await this.dataSource.query<{ part: Part; row: string }[]>(FEED, wanted);
    const of = (part: Part): string[] => rows.flatMap((its) => (its.part === part ? its.row : []));
    const tally = this.#lateness.add(parsed<Fired>(of('lateness')), wanted[2]);
    const cards = this.#cardsOf(of('orders'));
    const isDemo = this.config.demo === true;
    return {
      serverNow: now.toISOString(),
      servedBy: this.processes.self,
      mode: modeOf(this.config),
      can: { pay: isDemo, race: isDemo, kill: isDemo },
      skus: parsed<SkuCard>(of('skus')).toSorted((a, b) => (a.sku < b.sku ? -1 : 1)),
      orders: cards.slice(0, ORDERS_MAX),
      processes: this.processes
        .list()
        .map((process) => ({ ...process, fired: tally.firedBy(process.name) })),
      lateness: tally.lateness(),
      invariants: this.checks.latest,
      messages: parsed<MessageCard>(of('messages'))
        .map((message) => ({ ...message, at: new Date(message.at).toISOString() }))
        .toSorted((a, b) => b.at.localeCompare(a.at) || Number(b.id) - Number(a.id)),
      campaigns: await campaignCards(this.dataSource.manager, CAMPAIGNS_MAX),
      merchants: parsed<RemindedMerchant>(of('merchants'))
        .map((row) => ({ id: row.id, name: row.name, ...remindersOf(row) }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      happenings: this.#latest(cards.flatMap(({ timeline }) => timeline).filter(isNews)),
    };
  }

  /** @throws 404 when it is not the id of an order */
  async order(id: string): Promise<OrderCard> {
    const [found] = await this.dataSource.query<{ row: string }[]>(PICTURE, [id]);
    if (!found) throw unknownOrder(id);
    return orderCard(pictureOf(found.row));
  }

  /** Newest first. */
  #cardsOf(rows: string[]): OrderCard[] {
    const before = this.#cards;
    this.#cards = new Map(rows.map((row) => [row, before.get(row) ?? orderCard(pictureOf(row))]));
    return [...this.#cards.values()].toSorted((a, b) => b.no - a.no);
  }

  #latest(ofOrders: Happening[]): Happening[] {
    const ofProcesses = this.processes.events().map(({ at, name, what }): Happening => ({
      id: `process.${what}:${name}:${at}`,
      at,
      what: `process.${what}`,
      orderId: null,
      no: null,
      delay: null,
      by: name,
      lateMs: null,
      stock: null,
      amount: null,
      detail: null,
    }));
    return [...ofOrders, ...ofProcesses]
      .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
      .slice(0, HAPPENINGS_MAX);
  }
}

const parsed = <T>(rows: string[]): T[] => rows.map((row) => JSON.parse(row) as T);
