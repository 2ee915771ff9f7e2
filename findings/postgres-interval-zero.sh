#!/usr/bin/env bash
# Guessed: an interval that the parser does not know is refused.
# Seen: it is an interval of nothing. 'infinity', which Postgres has since 17, has zero seconds, and so has
#   what IntervalStyle = iso_8601 prints; IntervalStyle = postgres_verbose loses its sign.
# With: postgres-interval@4.1.0. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  postgres-interval@4.1.0
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import * as all from 'postgres-interval';
const parse = all.default?.default ?? all.default;
const parts = (text) => parse(text).toPostgres();
const seen = {
  infinity: parts('infinity'),
  P1DT2H: parts('P1DT2H'),
  '@ 1 day ago': parts('@ 1 day ago'),
};
const stated = {
  infinity: '0',
  P1DT2H: '0',
  '@ 1 day ago': '1 day',
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
