import { expect, it } from '@jest/globals';
import type {
  BacklogFigures,
  BacklogReason,
  CauseFields,
  DatabaseReason,
  DelayExplanationCause,
  DelayFigures,
  DelayHealth,
  HealthIndicator,
  HealthOptions,
  HealthReason,
  HealthReport,
  HealthStatus,
  NameFigures,
  NodeReason,
  OverdueFigures,
  ReasonFields,
} from 'nestjs-delay-queue';
import { fits, same } from '../../support/same-type.js';

async function calls(health: DelayHealth) {
  const options: HealthOptions = { lateAfter: '1m', heldAfter: '24h', deadLettersMax: 0 };
  const report = await health.check(options);
  fits<HealthReport>(report);
  fits<HealthReport>(health.live());
  fits<DelayFigures>(health.figures());
  for (const reason of report.reasons) {
    fits<HealthReason>(reason);
    if (reason.reason === 'late') fits<number | null>(reason.concurrency);
    if (reason.reason === 'snapshotHeld') fits<string>(reason.holder);
  }
  const terminus: HealthIndicator<{ is: string }> = {
    up: () => ({ is: 'up' }),
    down: () => ({ is: 'down' }),
  };
  fits<{ is: string }>(await health.indicate(terminus));
}

async function mistakes(health: DelayHealth) {
  // @ts-expect-error -- a misspelt option
  await health.check({ lateAftre: '1m' });
  // @ts-expect-error -- it asks the database nothing, so it has no limits
  health.live({ lateAfter: '1m' });
  // @ts-expect-error -- only what a person must look at has a sentence
  void (await health.check()).text;
  // @ts-expect-error -- an indicator says down as well
  await health.indicate({ up: () => 1 });
  // @ts-expect-error -- they are numbers of this moment, not to wait for
  void health.figures().then;
  // @ts-expect-error -- a class that the module makes
  fits<DelayHealth>({ check: async () => ({ status: 'up', reasons: [] }) });
}

function answers() {
  same<HealthStatus, 'up' | 'degraded' | 'down'>(true);
  same<keyof HealthReport, 'status' | 'reasons'>(true);
  same<HealthReason, NodeReason | BacklogReason | DatabaseReason>(true);
  same<ReasonFields<'late'>['status'], 'degraded' | 'down'>(true);
  same<Extract<NodeReason, { reason: 'clockJumped' }>['byMs'], number>(true);
  same<Extract<NodeReason, { reason: 'zoneDiffers' }>['zone'], string>(true);
  same<Extract<BacklogReason, { reason: 'held' }>['by'], 'pause' | 'limit'>(true);
  same<Extract<BacklogReason, { reason: 'nodeSilent' }>['silentMs'], number>(true);
  same<Extract<DatabaseReason, { reason: 'bloated' }>['table'], string>(true);
  same<HealthOptions['deadLettersMax'], number | undefined>(true);
  same<DelayFigures['names'], NameFigures[]>(true);
  same<DelayFigures['backlog'], BacklogFigures | null>(true);
  same<NameFigures['prefetched'], number>(true);
  same<DelayFigures['connections'], { used: number; idle: number }>(true);
  same<BacklogFigures['overdue'], OverdueFigures[]>(true);
  same<OverdueFigures['heldBy'], 'pause' | 'limit' | null>(true);
  same<keyof HealthIndicator<unknown>, 'up' | 'down' | 'degraded'>(true);
  same<keyof CauseFields<'absent'>, 'reason' | 'text'>(true);
  fits<CauseFields<'absent'>>({} as Extract<DelayExplanationCause, { reason: 'absent' }>);
}

it('what DelayHealth takes and answers, by `tsc`', () => {
  expect([calls, mistakes, answers]).toBeDefined();
});
