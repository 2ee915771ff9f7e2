/** Names that only tests use; the shop's own stand in `src/shop/delays.ts`. */
import 'nestjs-delay-queue';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'test.a': { n: number };
    'test.b': { text: string };
    /** Any other `test.` name: payloads of one test. */
    [name: `test.${string}`]: Json;
  }
}
