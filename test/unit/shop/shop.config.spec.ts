import { describe, expect, it } from '@jest/globals';
import { readSettings, ShopConfigError } from '../../../src/shop/shop.config.js';

const DATABASE_URL = 'postgres://localhost/shop';

describe('settings', () => {
  it('are short in the demo', () => {
    expect(readSettings({}, { prod: false })).toEqual({
      payWithinMs: 30_000,
      remindBeforeMs: 10_000,
      smsAfterMs: 5_000,
      confirmAfterMs: 20_000,
      rateAfterMs: 20_000,
      messagesPerSecond: 5,
      demo: true,
      logLevels: ['fatal', 'error', 'warn'],
      host: '127.0.0.1',
      port: 3000,
    });
  });

  it('are real with --prod', () => {
    expect(readSettings({ DATABASE_URL }, { prod: true })).toEqual({
      payWithinMs: 30 * 60_000,
      remindBeforeMs: 10 * 60_000,
      smsAfterMs: 60_000,
      confirmAfterMs: 14 * 24 * 3_600_000,
      rateAfterMs: 48 * 3_600_000,
      messagesPerSecond: 20,
      demo: false,
      logLevels: ['fatal', 'error', 'warn'],
      host: '0.0.0.0',
      port: 3000,
    });
  });

  it('come from the environment; what is set to nothing is not set', () => {
    const env = { ORDER_PAY_WITHIN: '1.5 h', ORDER_RATE_AFTER: '', PORT: '0', HOST: '::1' };
    expect(readSettings(env, { prod: false })).toMatchObject({
      payWithinMs: 5_400_000,
      rateAfterMs: 20_000,
      port: 0,
      host: '::1',
    });
  });

  it('switch the reminder and the text message off', () => {
    const env = { ORDER_REMIND_BEFORE: 'off', ORDER_SMS_AFTER: 'off' };
    expect(readSettings(env, { prod: false })).toMatchObject({
      remindBeforeMs: null,
      smsAfterMs: null,
    });
    expect(() => readSettings({ ORDER_PAY_WITHIN: 'off' }, { prod: false })).toThrow(
      /^ORDER_PAY_WITHIN: /,
    );
  });

  it('take a webhook for messages', () => {
    const MESSAGES_URL = 'https://sms.example/hook';
    expect(readSettings({ MESSAGES_URL }, { prod: false }).messagesUrl).toBe(MESSAGES_URL);
  });

  it.each(['sms.example', 'ftp://sms.example', 'https://user:secret@sms.example', 'secret'])(
    'name MESSAGES_URL when nothing can be posted there, and do not repeat it: %j',
    (MESSAGES_URL) => {
      const read = () => readSettings({ MESSAGES_URL }, { prod: false });
      expect(read).toThrow(/^MESSAGES_URL: /);
      expect(read).not.toThrow(/secret/);
    },
  );

  it.each(['30', 'soon', '30 minuts', '-5m', '0s', '1e3s', '4000d', '30m; rm'])(
    'name the variable that holds no duration: %j',
    (text) => {
      const read = () => readSettings({ ORDER_PAY_WITHIN: text }, { prod: false });
      expect(read).toThrow(ShopConfigError);
      expect(read).toThrow(/^ORDER_PAY_WITHIN: /);
    },
  );

  it.each(['http', '65536', '-1', '30.5'])('name PORT when it is none: %j', (PORT) => {
    expect(() => readSettings({ PORT }, { prod: false })).toThrow(/^PORT: /);
  });

  it.each(['0', '1001', '1.5', '-3', 'all', '1e2'])(
    'name MESSAGES_PER_SECOND when it is no rate: %j',
    (MESSAGES_PER_SECOND) => {
      expect(() => readSettings({ MESSAGES_PER_SECOND }, { prod: false })).toThrow(
        /^MESSAGES_PER_SECOND: /,
      );
    },
  );

  it('name everything that is wrong at once', () => {
    const env = { ORDER_SMS_AFTER: 'x', PORT: 'y' };
    expect(() => readSettings(env, { prod: true })).toThrow(
      /ORDER_SMS_AFTER: [^]*PORT: [^]*DATABASE_URL: /,
    );
  });
});
