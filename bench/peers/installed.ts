/**
 * `npm run bench:peers`, behind the installation of the packages: says which systems can be measured
 * here beside ours, and what the others still need. None of it is an error: a run leaves out what is
 * not there, and says so.
 */
import { PEERS } from '../adapters/adapters.js';
import { peersNodeVersion } from '../adapters/peer.js';
import { programPath, SERVERS } from '../server/programs.js';

console.log(
  `Node              this is ${process.versions.node}; who wants a newer one gets ${peersNodeVersion()}`,
);
for (const [server, debianPackage] of Object.entries(SERVERS)) {
  const path = programPath(server);
  // The bench starts its own; the one that a package starts only takes a part of the machine.
  const found =
    path ?? `MISSING; on Debian: apt-get install ${debianPackage}, and stop its service`;
  console.log(`${server.padEnd(16)}  ${found}`);
}
console.log();
for (const peer of PEERS) {
  const missing = peer.missing();
  if (missing.length === 0) console.log(`here      ${peer.settings}`);
  else console.log(`MISSING   ${peer.name}: it needs ${missing.join(', ')}`);
}
