import {
  Check,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';

/** Something to sell. `price` is in cents; `stock` is what no order holds. */
@Entity('sku')
@Check('ck_sku_price', `"price" BETWEEN 1 AND 1000000`)
@Check('ck_sku_stock', `"stock" >= 0`)
export class Sku {
  @PrimaryColumn({
    type: 'varchar',
    length: 64,
    collation: 'C',
    primaryKeyConstraintName: 'pk_sku',
  })
  sku!: string;

  @Column('text')
  name!: string;

  @Column('integer')
  price!: number;

  @Column('integer')
  stock!: number;

  /** Stock before the first order; the invariants compare with it. */
  @Column('integer', { name: 'initial_stock' })
  initialStock!: number;

  @Column({
    type: 'varchar',
    length: 64,
    collation: 'C',
    name: 'merchant_id',
    default: 'tea-house',
  })
  merchantId!: string;

  @ManyToOne(() => Merchant)
  @JoinColumn({ name: 'merchant_id', foreignKeyConstraintName: 'fk_sku_merchant' })
  merchant!: Relation<Merchant>;
}
