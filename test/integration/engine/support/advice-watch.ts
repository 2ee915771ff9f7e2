import { Injectable, type Type } from '@nestjs/common';
import { DelayEvents } from 'nestjs-delay-queue';

/** What nodes advise of, from their start on. */
export class AdviceWatch {
  readonly advice: string[] = [];
  readonly provider: Type;

  constructor() {
    const { advice } = this;

    @Injectable()
    class Watch {
      constructor(events: DelayEvents) {
        events.on('advice', ({ message }) => advice.push(message));
      }
    }
    this.provider = Watch;
  }
}
