import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import type { Check, Invariants } from './invariants.schemas.js';
import { INVARIANTS, OF_THE_SAMPLE_PROVIDER } from './invariants.sql.js';

interface Finding {
  looked_at: number;
  broken: number;
  example: string | null;
}

@Injectable()
export class InvariantsService {
  #running: Promise<Invariants> | undefined;
  /** Begins when the running check has ended. */
  #next: Promise<Invariants> | undefined;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(SHOP_CONFIG) private readonly config: Pick<ShopConfig, 'demo' | 'refundsUrl'>,
  ) {}

  /** Checks now. A check reads whole tables: calls that arrive during one share the next. */
  check(): Promise<Invariants> {
    if (this.#next !== undefined) return this.#next;
    if (this.#running === undefined) return this.#begin();
    const begin = (): Promise<Invariants> => {
      this.#next = undefined;
      return this.#begin();
    };
    return (this.#next = this.#running.then(begin, begin));
  }

  #begin(): Promise<Invariants> {
    return (this.#running = this.#look().finally(() => (this.#running = undefined)));
  }

  /** All checks see the same snapshot, so that none blames a write between two of them. */
  #look(): Promise<Invariants> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      await manager.query(`SET TRANSACTION READ ONLY`);
      const checks: Check[] = [];
      const isSampleAsked = this.config.demo && this.config.refundsUrl === undefined;
      for (const [name, sql] of Object.entries(INVARIANTS)) {
        if (name === OF_THE_SAMPLE_PROVIDER && !isSampleAsked) continue;
        const [finding] = await manager.query<Finding[]>(sql);
        checks.push(judge(name, finding!));
      }
      return { ok: checks.every(({ ok }) => ok), checks };
    });
  }
}

function judge(name: string, { looked_at, broken, example }: Finding): Check {
  const detail = broken === 0 ? `${looked_at} looked at` : `${broken} broken, such as ${example}`;
  return { name, ok: broken === 0, detail };
}
