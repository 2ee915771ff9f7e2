import { expect, it } from '@jest/globals';
import { textFor } from '../../../src/delay-queue/dashboard/door.js';
import type { Rights } from '../../../src/delay-queue/dashboard/rights.js';

const LIMITED = { seesAll: false, groups: ['mine'], names: null } as unknown as Rights;

it.each(['node', 'explanation', 'error', 'by', 'reason'])(
  'what an application calls %s is its own, in headers and in the schema of a payload',
  (field) => {
    const headers = { [field]: 'the customer said so' };
    const schema = { type: 'object', properties: { [field]: { type: 'string', default: field } } };
    const body = { headers, schema, node: 'worker-1' };
    expect(JSON.parse(textFor(LIMITED, body))).toEqual({ headers, schema, node: null });
  },
);
