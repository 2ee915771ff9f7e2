import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type DelayContext } from 'nestjs-delay-queue';
import { MessageProvider } from '../outbox/message-provider.js';
import { CampaignBatches } from './campaign-batches.js';
import { CAMPAIGN_LIMITS } from './campaign-pace.js';

@Injectable()
export class SendCampaignHandler {
  constructor(
    private readonly batches: CampaignBatches,
    private readonly provider: MessageProvider,
  ) {}

  /**
   * Sends one batch of a campaign; its delay then moves on to the next. Not transactional: no
   * rollback takes back what a provider has accepted. If the campaign or the process is stopped,
   * the batch ends at once, and what it may have sent is handed over again under the same ids, as
   * after a crash. Only failures on our side count as attempts, not refusals of the provider.
   */
  @OnDelay('campaign.send', { ...CAMPAIGN_LIMITS, maxAttempts: 1_000 })
  async send(
    { payload: { campaignId } }: Delay<'campaign.send'>,
    { signal }: DelayContext,
  ): Promise<void> {
    const batch = await this.batches.take(campaignId);
    if (!batch) return;
    const failures = await this.provider.send(batch.messages, signal);
    if (signal.aborted) {
      await this.batches.keepAccepted(batch, failures);
      throw signal.reason;
    }
    await this.batches.settle(batch, failures);
  }
}
