import ms from 'ms';
import { z } from 'zod';

/** What the shop needs to know before it starts; durations in milliseconds. */
export interface ShopConfig {
  databaseUrl: string;
  payWithinMs: number;
  /** Before the end of the time to pay; `null`: no reminder. */
  remindBeforeMs: number | null;
  /** After placing; `null`: no text message. */
  smsAfterMs: number | null;
  confirmAfterMs: number;
  rateAfterMs: number;
  /**
   * URL that messages to buyers are posted to. Default: the demo's own provider, otherwise none.
   */
  messagesUrl?: string | undefined;
  /** URL that refunds are posted to; the same default. */
  refundsUrl?: string | undefined;
  /**
   * Token of the provider's payment reports. Default: anyone may report in the demo, else no one.
   */
  paymentsToken?: string | undefined;
  /** How long one post of a message or a refund may take. Default 5 s. */
  webhookTimeoutMs?: number;
  /** Messages of campaigns that the provider takes in a second, 1 to 1,000. Default 20. */
  messagesPerSecond?: number;
  /** Visitors pay with the sample provider, start races and kill processes. Default false. */
  demo?: boolean;
}

export interface ListenConfig {
  host: string;
  port: number;
}

/** Which levels of Nest's log are printed. */
export interface LogConfig {
  logLevels: (typeof LOG_LEVELS)[number][];
}

/** Environment variables are invalid; the message names each one and says why. */
export class ShopConfigError extends Error {
  override readonly name = 'ShopConfigError';
}

const REAL = {
  ORDER_PAY_WITHIN: '30m',
  ORDER_REMIND_BEFORE: '10m',
  ORDER_SMS_AFTER: '60s',
  ORDER_CONFIRM_AFTER: '14d',
  ORDER_RATE_AFTER: '48h',
  MESSAGES_PER_SECOND: '20',
  HOST: '127.0.0.1',
};

/** Short enough to watch an order go through all its states over a cup of tea. */
const DEMO: typeof REAL = {
  ORDER_PAY_WITHIN: '30s',
  ORDER_REMIND_BEFORE: '10s',
  ORDER_SMS_AFTER: '5s',
  ORDER_CONFIRM_AFTER: '20s',
  ORDER_RATE_AFTER: '20s',
  MESSAGES_PER_SECOND: '5',
  HOST: '127.0.0.1',
};

const DURATION = /^\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w)$/;
const isDuration = (text: string): text is ms.StringValue => DURATION.test(text);
const LONGEST_MS = ms('3650d');

/** A text such as `30m`, in milliseconds. */
export const duration = z.string().transform((text, context) => {
  const value = isDuration(text) ? ms(text) : Number.NaN;
  if (value >= 1 && value <= LONGEST_MS) return Math.round(value);
  context.addIssue({
    code: 'custom',
    message: `"${text}" is not a duration from 1ms to 3650d; write it like 90s, 30m, 48h or 14d`,
  });
  return z.NEVER;
});

const DURATION_CHARACTERS_MAX = 32;

/** {@link duration} for requests, whose texts may be of any length. */
export const durationText = z.string().max(DURATION_CHARACTERS_MAX).pipe(duration);

const durationOrOff = z.union([z.literal('off').transform(() => null), duration]);

/** The value stays out of the message: the path of a webhook is often its secret. */
const webhook = z
  .url({ protocol: /^https?$/, error: 'is not a URL that begins with http:// or https://' })
  .refine((url) => !URL.canParse(url) || new URL(url).username === '', {
    error: 'holds a user name, which a post cannot carry; put a token into the path',
  });

/** Nest's names, the most severe first. */
const LOG_LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;

const environment = z.object({
  ORDER_PAY_WITHIN: duration,
  ORDER_REMIND_BEFORE: durationOrOff,
  ORDER_SMS_AFTER: durationOrOff,
  ORDER_CONFIRM_AFTER: duration,
  ORDER_RATE_AFTER: duration,
  MESSAGES_URL: webhook.optional(),
  REFUNDS_URL: webhook.optional(),
  PAYMENTS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'is not a token; use 16 to 256 printable ASCII characters')
    .optional(),
  MESSAGES_PER_SECOND: z
    .string()
    .regex(/^(?:[1-9]\d{0,2}|1000)$/, 'is not a rate; write a whole number from 1 to 1000')
    .transform(Number),
  LOG_LEVEL: z
    .enum(LOG_LEVELS, `is not a level; write one of ${LOG_LEVELS.join(', ')}`)
    .transform((level) => LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1)),
  HOST: z.string(),
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'is not a port; write a number from 0 to 65535')
    .transform(Number)
    .refine((port) => port <= 65_535, 'is not a port; write a number from 0 to 65535'),
});

/** Durations and the address to listen on, from the environment. */
export type ShopSettings = Omit<ShopConfig, 'databaseUrl'> & ListenConfig & LogConfig;

/** The real durations that the short ones of the demo stand for. */
export const REAL_DURATIONS = durationsOf(
  environment.parse({ PORT: '0', LOG_LEVEL: 'warn', ...REAL }),
);

/**
 * Reads the durations, `HOST` and `PORT`. An unset or empty variable has its default: with `prod`
 * the real durations, otherwise the demo's.
 *
 * @throws ShopConfigError naming every invalid variable
 */
export function readSettings(env: NodeJS.ProcessEnv, { prod }: { prod: boolean }): ShopSettings {
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  const defaults = { PORT: '3000', LOG_LEVEL: 'warn', ...(prod ? REAL : DEMO) };
  const read = environment.safeParse({ ...defaults, ...Object.fromEntries(given) });
  const problems = read.success
    ? []
    : read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  if (prod && !env.DATABASE_URL) {
    problems.push('DATABASE_URL: needed with --prod, like postgres://user:password@host:5432/shop');
  }
  if (!read.success || problems.length > 0) throw new ShopConfigError(problems.join('\n'));
  return {
    ...durationsOf(read.data),
    messagesUrl: read.data.MESSAGES_URL,
    refundsUrl: read.data.REFUNDS_URL,
    paymentsToken: read.data.PAYMENTS_TOKEN,
    messagesPerSecond: read.data.MESSAGES_PER_SECOND,
    demo: !prod,
    host: read.data.HOST,
    port: read.data.PORT,
    logLevels: read.data.LOG_LEVEL,
  };
}

function durationsOf(read: z.output<typeof environment>) {
  return {
    payWithinMs: read.ORDER_PAY_WITHIN,
    remindBeforeMs: read.ORDER_REMIND_BEFORE,
    smsAfterMs: read.ORDER_SMS_AFTER,
    confirmAfterMs: read.ORDER_CONFIRM_AFTER,
    rateAfterMs: read.ORDER_RATE_AFTER,
  };
}

export const SHOP_CONFIG = Symbol('SHOP_CONFIG');
