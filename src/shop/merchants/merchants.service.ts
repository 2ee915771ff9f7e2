import { Inject, Injectable, NotFoundException } from '@nestjs/common';
import { DataSource, type FindOptionsWhere } from 'typeorm';
import { Sku } from '../catalog/sku.entity.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import { Merchant } from './merchant.entity.js';
import type { ChangeTerms, MerchantView } from './merchants.schemas.js';
import { termsOf } from './terms.js';

const SETTINGS = {
  payWithin: 'payWithinMs',
  remindBefore: 'remindBeforeMs',
  smsAfter: 'smsAfterMs',
  confirmAfter: 'confirmAfterMs',
  rateAfter: 'rateAfterMs',
} as const satisfies Record<keyof ChangeTerms, keyof Merchant>;

/** What is not even an id is the id of nobody. */
const ID = /^[\w.-]{1,64}$/;

const unknownMerchant = (): NotFoundException =>
  new NotFoundException('there is no such merchant; see GET /merchants');

@Injectable()
export class MerchantsService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  list(): Promise<MerchantView[]> {
    return this.views({});
  }

  /** For orders that are placed from now on. @throws 404 for an unknown merchant */
  async change(id: string, change: ChangeTerms): Promise<MerchantView> {
    if (!ID.test(id)) throw unknownMerchant();
    const set = Object.fromEntries(
      Object.entries(change).map(([name, ms]) => [SETTINGS[name as keyof ChangeTerms], ms]),
    );
    if (Object.keys(set).length > 0) await this.dataSource.manager.update(Merchant, { id }, set);
    const [merchant] = await this.views({ id });
    if (!merchant) throw unknownMerchant();
    return merchant;
  }

  private async views(where: FindOptionsWhere<Merchant>): Promise<MerchantView[]> {
    const { manager } = this.dataSource;
    const merchants = await manager.find(Merchant, { where, order: { id: 'ASC' } });
    const skus = await manager.find(Sku, { order: { sku: 'ASC' } });
    return merchants.map((merchant) => ({
      id: merchant.id,
      name: merchant.name,
      terms: termsOf(merchant, this.config),
      own: Object.values(SETTINGS).filter((setting) => merchant[setting] !== null),
      skus: skus.filter(({ merchantId }) => merchantId === merchant.id).map(({ sku }) => sku),
    }));
  }
}
