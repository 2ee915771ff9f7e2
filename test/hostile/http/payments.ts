import { ID, post, type HostileRequest } from './request.js';

const report = (what: string, given: object, says: RegExp): HostileRequest => {
  const good = { orderId: ID, provider: 'test', transaction: 'tx', amount: 100 };
  return post('/payments/callback', what, JSON.stringify({ ...good, ...given }), { says });
};

const CALLBACK = '{"orderId":"' + ID + '","provider":"test","transaction":"tx","amount":';

export const PAYMENTS: readonly HostileRequest[] = [
  ...[
    '0',
    '-1',
    '0.5',
    '1e309',
    '2147483648',
    '9007199254740993',
    '"100"',
    'null',
    '[1]',
    '{}',
  ].map((amount) =>
    post('/payments/callback', `an amount of ${amount}`, `${CALLBACK}${amount}}`, {
      says: /^amount: /,
    }),
  ),
  report('an order of SQL', { orderId: `' OR 1=1 --` }, /^orderId: /),
  report('an order of a list', { orderId: [ID] }, /^orderId: /),
  report('no provider', { provider: '' }, /^provider: /),
  report('a provider of 65 characters', { provider: 'p'.repeat(65) }, /^provider: /),
  report('a provider with a line break', { provider: 'a\r\nb' }, /^provider: /),
  report('a transaction with NUL', { transaction: 'a\0' }, /^transaction: /),
  report('a transaction of 256 characters', { transaction: 't'.repeat(256) }, /^transaction: /),
  report('a transaction of an emoji', { transaction: '😀' }, /^transaction: /),
  report('a transaction of an object', { transaction: { $gt: '' } }, /^transaction: /),
];
