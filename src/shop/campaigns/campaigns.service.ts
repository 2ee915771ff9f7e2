import { ConflictException, Inject, Injectable, NotFoundException } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { InvalidRequest } from '../http/invalid-request.js';
import { ProblemException } from '../http/problem.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { serverNow } from '../shop.clock.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { messagesPerSecond } from './campaign-pace.js';
import { campaignRows } from './campaign-rows.js';
import { Campaign } from './campaign.entity.js';
import {
  campaignId,
  type CampaignsQuery,
  type CampaignView,
  type CreateCampaign,
} from './campaigns.schemas.js';

/** A caller's "now" comes from its own clock, and arrives a while later. */
const PAST_MAX_MS = 5 * 60_000;
/** A batch ends at once when it is cut. */
const ABORT_WITHIN = '1s';
const AHEAD_MAX_MS = 366 * 24 * 3_600_000;

@Injectable()
export class CampaignsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  /**
   * The same `idempotencyKey` with the same campaign returns the first one.
   *
   * @throws 400 for a time out of range and for an unknown merchant; 422 when the key was used for
   * another campaign
   */
  async create(request: CreateCampaign, idempotencyKey?: string): Promise<CampaignView> {
    const key = idempotencyKey ?? null;
    const hash = key && createHash('sha256').update(JSON.stringify(request)).digest('hex');
    const id =
      (await this.createdBefore(key, hash)) ??
      (await this.createNow(request, key, hash)) ??
      // Two concurrent requests with one key: the insert of the second waited for the first.
      (await this.createdBefore(key, hash));
    return this.show(id!);
  }

  /** @throws 404 for an unknown campaign */
  async show(given: string): Promise<CampaignView> {
    const id = campaignId.safeParse(given);
    const [campaign] = id.success ? await this.views({ id: id.data }) : [];
    if (!campaign) throw new NotFoundException(`there is no campaign ${given}`);
    return campaign;
  }

  list({ after }: CampaignsQuery): Promise<CampaignView[]> {
    return this.views({ after });
  }

  /**
   * Nothing more is sent: a batch that is with the provider now is cut, on whichever process.
   *
   * @throws 404 for an unknown campaign; 409 for one that is completed
   */
  async stop(given: string): Promise<CampaignView> {
    const { id } = await this.show(given);
    await this.dataSource.transaction(async (manager) => {
      const { state } = await lock(manager, id);
      if (state === 'COMPLETED') {
        throw new ConflictException('the campaign cannot be stopped: it is COMPLETED');
      }
      await manager.update(Campaign, { id }, { state: 'STOPPED' });
      // If it answers `running`, that attempt is not with the provider: it waits for this row, and
      // ends when it sees the change.
      const abort = { running: 'abort', abortWithin: ABORT_WITHIN, manager } as const;
      await this.delays.cancel('campaign.send', id, abort);
    });
    return this.show(id);
  }

  /**
   * A stopped campaign continues where it stopped. A running or completed one stays as it is.
   *
   * @throws 404 for an unknown campaign
   */
  async resume(given: string): Promise<CampaignView> {
    const { id } = await this.show(given);
    await this.dataSource.transaction(async (manager) => {
      const campaign = await lock(manager, id);
      if (campaign.state === 'COMPLETED') return;
      const state = campaign.startedAt ? 'RUNNING' : 'SCHEDULED';
      await manager.update(Campaign, { id }, { state });
      await this.start(manager, campaign);
    });
    return this.show(id);
  }

  /** @returns its id; `null` when the key has been used meanwhile */
  private createNow(
    { merchant, at, message, recipients }: CreateCampaign,
    idempotencyKey: string | null,
    requestHash: string | null,
  ): Promise<string | null> {
    return this.dataSource.transaction(async (manager) => {
      checkTime(at, await serverNow(manager));
      await checkMerchant(manager, merchant);
      const campaign = {
        state: 'SCHEDULED',
        merchantId: merchant,
        message,
        sendAt: at,
        idempotencyKey,
        requestHash,
      } as const;
      const insert = manager
        .createQueryBuilder()
        .insert()
        .into(Campaign)
        .values(campaign)
        .orIgnore();
      const { raw } = await insert.returning('id').execute();
      const [created] = raw as { id: string }[];
      if (!created) return null;
      await manager.query(
        `INSERT INTO campaign_recipient (campaign_id, recipient)
         SELECT $1, recipient FROM unnest($2::text[]) WITH ORDINALITY AS given (recipient, place)
         ORDER BY place`,
        [created.id, recipients],
      );
      await this.start(manager, { ...campaign, id: created.id });
      return created.id;
    });
  }

  /**
   * `keep`: a waiting delay stays. A running attempt sees that the campaign goes on, and moves on.
   */
  private async start(
    manager: EntityManager,
    { id, merchantId, sendAt }: Pick<Campaign, 'id' | 'merchantId' | 'sendAt'>,
  ): Promise<void> {
    const now = await serverNow(manager);
    const at = sendAt > now ? sendAt : now;
    const begin = { at, key: id, group: merchantId, onConflict: 'keep', manager } as const;
    await this.delays.schedule('campaign.send', { campaignId: id }, begin);
  }

  private async createdBefore(key: string | null, hash: string | null): Promise<string | null> {
    if (key === null) return null;
    const first = await this.dataSource.manager.findOneBy(Campaign, { idempotencyKey: key });
    if (first && first.requestHash !== hash) {
      throw new ProblemException(
        'key-used-before',
        'this Idempotency-Key was used for another campaign',
      );
    }
    return first?.id ?? null;
  }

  private async views(wanted: Parameters<typeof campaignRows>[1]) {
    const rows = await campaignRows(this.dataSource.manager, wanted);
    const rate = { messagesPerSecond: messagesPerSecond(this.config) };
    return rows.map((row): CampaignView => ({ ...row, ...rate }));
  }
}

/** A concurrent attempt waits here, or this waits for it. */
function lock(manager: EntityManager, id: string): Promise<Campaign> {
  return manager.findOneOrFail(Campaign, { where: { id }, lock: { mode: 'for_no_key_update' } });
}

async function checkMerchant(manager: EntityManager, id: string): Promise<void> {
  if (await manager.existsBy(Merchant, { id })) return;
  throw new InvalidRequest({ field: 'merchant', message: 'is unknown; see GET /merchants' });
}

function checkTime(at: Date, now: Date): void {
  const aheadMs = at.getTime() - now.getTime();
  if (aheadMs < -PAST_MAX_MS)
    throw new InvalidRequest({ field: 'at', message: 'is past; now is fine' });
  if (aheadMs > AHEAD_MAX_MS)
    throw new InvalidRequest({ field: 'at', message: 'must be within a year from now' });
}
