import { afterEach, beforeEach, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { WheelAlarm } from '../../../src/delay-queue/core/timer-wheel/wheel-alarm.js';
import type { WheelChannel } from '../../../src/delay-queue/core/timer-wheel/wheel.channel.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';
import { RecordingLogger } from '../../support/recording-logger.js';

/** A channel, what it heard so far, and a way to wait for what it hears next. */
export interface Listener {
  channel: WheelChannel;
  heard: number[][];
  next: () => Promise<readonly number[]>;
}

/** A fresh wheel per test, stopped afterwards, whose complaints are kept instead of printed. */
export class WheelUnderTest {
  wheel = new WheelService();
  alarm: WheelAlarm | undefined;
  logger = new RecordingLogger();

  /** @param options.withAlarm each wheel gets one of its own */
  constructor(private readonly options: { withAlarm?: boolean } = {}) {
    beforeEach(() => this.renew());
    afterEach(async () => {
      this.wheel.onApplicationShutdown();
      await this.alarm?.close();
      jest.restoreAllMocks();
    });
  }

  renew(capacity?: number): void {
    this.wheel.onApplicationShutdown();
    this.alarm = this.options.withAlarm ? new WheelAlarm() : undefined;
    this.wheel = new WheelService(capacity, this.alarm);
    Logger.overrideLogger((this.logger = new RecordingLogger()));
  }

  get complaints(): string[] {
    return this.logger.lines('error');
  }

  /** @param capacity of the channel */
  listen(capacity?: number): Listener {
    const heard: number[][] = [];
    let tell: ((tags: readonly number[]) => void) | undefined;
    const channel = this.wheel.channel((tags) => {
      heard.push([...tags]);
      tell?.(tags);
    }, capacity);
    return { channel, heard, next: () => new Promise((resolve) => (tell = resolve)) };
  }

  /** Resolves when the wheel has let so much time pass. */
  passed(ms: number): Promise<void> {
    return new Promise((resolve) => this.wheel.after(ms, resolve));
  }

  /** Lets nobody else work until then. */
  busyUntil(ms: number): void {
    while (this.wheel.nowMs() < ms);
  }
}
