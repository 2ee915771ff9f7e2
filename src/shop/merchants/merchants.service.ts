import { Inject, Injectable, NotFoundException } from '@nestjs/common';
import { DelayAdmin } from 'nestjs-delay-queue';
import { DataSource, type FindOptionsWhere } from 'typeorm';
import { Sku } from '../catalog/sku.entity.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { Merchant } from './merchant.entity.js';
import { type ChangeMerchant, MERCHANT_ID, type MerchantView } from './merchants.schemas.js';
import { REMINDED_MERCHANTS, remindersOf, type RemindedMerchant } from './merchants.sql.js';
import { termsOf } from './terms.js';

/** Settings that override one of the shop's. */
const TERMS = {
  payWithin: 'payWithinMs',
  remindBefore: 'remindBeforeMs',
  smsAfter: 'smsAfterMs',
  confirmAfter: 'confirmAfterMs',
  rateAfter: 'rateAfterMs',
} as const satisfies Record<Exclude<keyof ChangeMerchant, 'timeZone'>, keyof Merchant>;

const SETTINGS = { ...TERMS, timeZone: 'timeZone' } as const;

const unknownMerchant = (): NotFoundException =>
  new NotFoundException('there is no such merchant; see GET /merchants');

@Injectable()
export class MerchantsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly admin: DelayAdmin,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  list(): Promise<MerchantView[]> {
    return this.views({});
  }

  /** Applies to orders that are placed from now on. @throws 404 for an unknown merchant */
  async change(id: string, change: ChangeMerchant): Promise<MerchantView> {
    if (!MERCHANT_ID.test(id)) throw unknownMerchant();
    const set = Object.fromEntries(
      Object.entries(change).map(([name, ms]) => [SETTINGS[name as keyof ChangeMerchant], ms]),
    );
    if (Object.keys(set).length > 0) await this.dataSource.manager.update(Merchant, { id }, set);
    return this.show(id);
  }

  /**
   * Reminds all merchants in the time zone of this one, now. The next morning's reminder stays.
   *
   * @throws 404 for an unknown merchant
   */
  async remind(id: string): Promise<MerchantView> {
    const { timeZone } = await this.show(id);
    await this.admin.runNow([{ name: 'merchant.remind', key: timeZone }]);
    return this.show(id);
  }

  private async show(id: string): Promise<MerchantView> {
    const [merchant] = MERCHANT_ID.test(id) ? await this.views({ id }) : [];
    if (!merchant) throw unknownMerchant();
    return merchant;
  }

  private async views(where: FindOptionsWhere<Merchant>): Promise<MerchantView[]> {
    const { manager } = this.dataSource;
    const merchants = await manager.find(Merchant, { where, order: { id: 'ASC' } });
    const skus = await manager.find(Sku, { order: { sku: 'ASC' } });
    const reminded = await manager.query<RemindedMerchant[]>(REMINDED_MERCHANTS);
    const remindersById = new Map(reminded.map((row) => [row.id, remindersOf(row)]));
    return merchants.map((merchant) => ({
      id: merchant.id,
      name: merchant.name,
      terms: termsOf(merchant, this.config),
      own: Object.values(TERMS).filter((setting) => merchant[setting] !== null),
      skus: skus.filter(({ merchantId }) => merchantId === merchant.id).map(({ sku }) => sku),
      ...remindersById.get(merchant.id)!,
    }));
  }
}
