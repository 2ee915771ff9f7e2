import type { LogLevel } from '@nestjs/common';
import { ShopLog } from '../shop/shop.log.js';

/** Nest's log in short lines: a level and what it is, without process, date and colour of its own. */
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
