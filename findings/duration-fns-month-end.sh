#!/usr/bin/env bash
# Guessed: the time between two dates, added to the first, gives the second.
# Seen: duration-fns says that 31 January to 28 February is one month and minus three days, and adds
#   it up to 25 February.
# With: duration-fns@3.0.2. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  duration-fns@3.0.2
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { apply, between, toString } from 'duration-fns';
const round = (from, to) => {
  const duration = between(from, to);
  return [toString(duration), apply(`${from}T00:00:00Z`, duration).toISOString().slice(0, 10)];
};
const seen = {
  '2027-01-15 to 2027-02-28': round('2027-01-15', '2027-02-28'),
  '2027-01-31 to 2027-02-28': round('2027-01-31', '2027-02-28'),
  '2027-01-31 to 2027-04-30': round('2027-01-31', '2027-04-30'),
};
const stated = {
  '2027-01-15 to 2027-02-28': ['P1M13D', '2027-02-28'],
  '2027-01-31 to 2027-02-28': ['P1M-3D', '2027-02-25'],
  '2027-01-31 to 2027-04-30': ['P3M-1D', '2027-04-29'],
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
