import type { LogLevel } from '@nestjs/common';
import { ShopLog } from '../shop/shop.log.js';

/** Nest's log in short lines: level and message, without process id, date or extra color. */
export class ShortLog extends ShopLog {
  constructor({ logLevels, colors }: { logLevels: LogLevel[]; colors: boolean }) {
    super({ logLevels, colors });
  }

  protected override formatMessage(
    logLevel: LogLevel,
    message: unknown,
    _pidMessage: string,
    _formattedLogLevel: string,
    contextMessage: string,
  ): string {
    const level = this.colorize(logLevel === 'log' ? 'info' : logLevel, logLevel);
    return `${level} ${contextMessage}${this.stringifyMessage(message, logLevel)}\n`;
  }
}
