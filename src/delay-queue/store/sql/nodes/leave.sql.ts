import type { Tables } from '../../tables/schema.js';

/** A node says goodbye. Parameters: node. */
export const leaveSql = ({ node }: Tables): string => `
DELETE FROM ${node} WHERE id = $1::text RETURNING id AS node`;
