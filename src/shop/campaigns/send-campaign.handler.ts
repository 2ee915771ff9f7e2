import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type DelayContext } from 'nestjs-delay-queue';
import { MessageProvider } from '../outbox/message-provider.js';
import { CampaignBatches } from './campaign-batches.js';

@Injectable()
export class SendCampaignHandler {
  constructor(
    private readonly batches: CampaignBatches,
    private readonly provider: MessageProvider,
  ) {}

  /**
   * One batch of a campaign, and its delay moves on to the next. Not transactional: what a provider has
   * accepted no rollback takes back. What a process that died may have sent is handed over again under
   * the same ids. Attempts are what broke on our side; what the provider refuses costs none.
   */
  @OnDelay('campaign.send', { maxAttempts: 1_000 })
  async send(
    { payload: { campaignId } }: Delay<'campaign.send'>,
    { signal }: DelayContext,
  ): Promise<void> {
    const batch = await this.batches.take(campaignId);
    if (!batch) return;
    const failures = await this.provider.send(batch.messages, signal);
    await this.batches.settle(batch, failures, signal.aborted);
  }
}
