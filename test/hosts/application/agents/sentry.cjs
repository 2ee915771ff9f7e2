const Sentry = require('@sentry/nestjs');

let statements = 0;
let transactions = 0;
globalThis.seen = () => ({ statements, transactions });

Sentry.init({
  dsn: 'http://key@127.0.0.1:9/1',
  tracesSampleRate: 1,
  transport: () => ({ send: async () => ({}), flush: async () => true }),
  beforeSendTransaction(event) {
    transactions += 1;
    if (event.contexts?.trace?.op === 'db') statements += 1;
    return event;
  },
});
