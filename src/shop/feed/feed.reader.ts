import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Sku } from '../catalog/sku.entity.js';
import { InvariantsService } from '../invariants/invariants.service.js';
import { Processes } from '../processes/processes.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { campaignCards } from './campaign-cards.js';
import {
  CAMPAIGNS_MAX,
  HAPPENINGS_MAX,
  MESSAGES_MAX,
  ORDERS_MAX,
  type Feed,
  type Happening,
  type InvariantStrip,
} from './feed.js';
import { NOW } from './feed.sql.js';
import { LatenessCount } from './lateness.js';
import { messageCards } from './message-cards.js';
import { modeOf } from './mode.js';
import { orderCard } from './order-card.js';
import { takePictures } from './picture.js';
import { isNews } from './timeline.js';

/** They read whole tables: not more often than that while things happen, and not less often. */
const INVARIANTS_AFTER_MS = { busy: 1_000, idle: 5_000 };

/** An instant on the database's clock; the text is the same until somebody commits something. */
export interface Instant {
  now: Date;
  snapshot: string;
}

/** Looks up what the feed tells. */
@Injectable()
export class FeedReader {
  readonly #lateness: LatenessCount;
  #invariants: InvariantStrip | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly processes: Processes,
    private readonly checks: InvariantsService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {
    this.#lateness = new LatenessCount(processes.shopStartedAt);
  }

  async now(): Promise<Instant> {
    const [instant] = await this.dataSource.query<Instant[]>(NOW);
    return instant!;
  }

  /** Everything, as of one snapshot, but for the invariants, which are a little older. */
  async read({ now }: Instant): Promise<Feed> {
    const invariants = await this.#checked(now, INVARIANTS_AFTER_MS.busy);
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      await manager.query(`SET TRANSACTION READ ONLY`);
      const pictures = await takePictures(manager);
      const cards = pictures.map(orderCard);
      const tally = await this.#lateness.read(manager, now);
      return {
        serverNow: now.toISOString(),
        servedBy: this.processes.self,
        mode: modeOf(this.config),
        can: { race: this.config.demo === true, kill: this.config.demo === true },
        skus: await skuCards(manager),
        orders: cards.slice(0, ORDERS_MAX),
        processes: this.processes
          .list()
          .map((process) => ({ ...process, fired: tally.firedBy(process.name) })),
        lateness: tally.lateness(),
        invariants,
        messages: await messageCards(manager, MESSAGES_MAX),
        campaigns: await campaignCards(manager, CAMPAIGNS_MAX),
        happenings: this.#latest(cards.flatMap(({ timeline }) => timeline).filter(isNews)),
      };
    });
  }

  /** Whether the invariants have to be looked at again although nothing has happened. */
  isStale(now: Date): boolean {
    const checkedAt = Date.parse(this.#invariants?.checkedAt ?? '');
    return !(now.getTime() - checkedAt < INVARIANTS_AFTER_MS.idle);
  }

  async #checked(now: Date, afterMs: number): Promise<InvariantStrip> {
    const known = this.#invariants;
    if (known && now.getTime() - Date.parse(known.checkedAt) < afterMs) return known;
    this.#invariants = { ...(await this.checks.check()), checkedAt: now.toISOString() };
    return this.#invariants;
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

const skuCards = (manager: EntityManager): Promise<Feed['skus']> =>
  manager.find(Sku, {
    select: { sku: true, name: true, price: true, stock: true, initialStock: true },
    order: { sku: 'ASC' },
  });
