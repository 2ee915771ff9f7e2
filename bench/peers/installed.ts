/**
 * `npm run bench:peers`, behind the installation of the packages: says which systems can be measured
 * here beside ours, and what the others still need. None of it is an error: a run leaves out what is
 * not there, and says so.
 */
import { missingOf, PEERS } from '../adapters/adapters.js';
import { peersNodeVersion } from '../adapters/peer.js';
import { redisPath } from '../server/redis-server.js';

console.log(
  `Node              this is ${process.versions.node}; a peer that wants a newer one gets ${peersNodeVersion()}`,
);
// The bench starts its own; the one that a package starts only takes a part of the machine.
const missing = 'MISSING; on Debian: apt-get install redis-server, and stop its service';
console.log(`redis-server      ${redisPath() ?? missing}`);
console.log();
for (const peer of PEERS) {
  const why = missingOf(peer);
  console.log(why === undefined ? `here      ${peer.settings}` : `MISSING   ${peer.name} ${why}`);
}
