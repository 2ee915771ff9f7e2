import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { millisecondsOrNull } from './milliseconds.js';
import { TIME_ZONE_OF_THE_SHOP } from './time-zones.js';

/** A merchant with its own settings. `null`: the default of the shop's configuration. */
@Entity('merchant')
@Check('ck_merchant_terms', `LEAST("pay_within_ms", "confirm_after_ms", "rate_after_ms") > 0`)
@Check('ck_merchant_messages', `LEAST("remind_before_ms", "sms_after_ms") >= 0`)
export class Merchant {
  @PrimaryColumn({
    type: 'varchar',
    length: 64,
    collation: 'C',
    primaryKeyConstraintName: 'pk_merchant',
  })
  id!: string;

  @Column('text')
  name!: string;

  @Column({ ...millisecondsOrNull, name: 'pay_within_ms' })
  payWithinMs!: number | null;

  /** 0: no reminder. */
  @Column({ ...millisecondsOrNull, name: 'remind_before_ms' })
  remindBeforeMs!: number | null;

  /** 0: no text message. */
  @Column({ ...millisecondsOrNull, name: 'sms_after_ms' })
  smsAfterMs!: number | null;

  @Column({ ...millisecondsOrNull, name: 'confirm_after_ms' })
  confirmAfterMs!: number | null;

  @Column({ ...millisecondsOrNull, name: 'rate_after_ms' })
  rateAfterMs!: number | null;

  /** Its reminder of orders that wait to be shipped comes at nine in this time zone. */
  @Column('varchar', { name: 'time_zone', length: 64, default: TIME_ZONE_OF_THE_SHOP })
  timeZone!: string;
}
