import { REAL_DURATIONS, type ShopConfig } from '../shop.config.js';
import type { DurationName, Mode } from './feed.js';

type Durations = Pick<
  ShopConfig,
  'payWithinMs' | 'remindBeforeMs' | 'smsAfterMs' | 'confirmAfterMs' | 'rateAfterMs'
>;

/** The durations of this shop, beside those that they stand for. */
export function modeOf(config: ShopConfig): Mode {
  const real = shown(REAL_DURATIONS);
  return {
    name: config.demo ? 'demo' : 'real',
    durations: Object.entries(shown(config)).map(([name, ms]) => ({
      name: name as DurationName,
      ms,
      standsForMs: real[name as DurationName]!,
    })),
  };
}

const shown = (durations: Durations): Record<DurationName, number | null> => ({
  pay: durations.payWithinMs,
  remind:
    durations.remindBeforeMs === null ? null : durations.payWithinMs - durations.remindBeforeMs,
  sms: durations.smsAfterMs,
  confirm: durations.confirmAfterMs,
  rate: durations.rateAfterMs,
});
