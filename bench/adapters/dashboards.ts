import type { INestApplication } from '@nestjs/common';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

const VIEWERS = 5;

/** Reads each stream as it comes, as a browser elsewhere does, from when there is one. */
const READER = `
const [url, count] = process.argv.slice(1);
const look = () => require('node:http')
  .get(url, (stream) => stream.resume())
  .on('error', () => setTimeout(look, 20));
for (let n = 0; n < count; n++) look();
console.log('waiting');`;

/** Viewers of the dashboard of one application, in a process of their own. */
export class Viewers {
  private constructor(
    private readonly reader: ChildProcess,
    private readonly port: number,
  ) {}

  /** They wait for it. */
  static async come(): Promise<Viewers> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/delays/api/live`;
    const reader = spawn(process.execPath, ['-e', READER, url, String(VIEWERS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(reader.stdout, 'data');
    return new Viewers(reader, port);
  }

  async open(app: INestApplication): Promise<void> {
    await app.listen(this.port, '127.0.0.1');
  }

  async leave(): Promise<void> {
    if (this.reader.kill()) await once(this.reader, 'exit');
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
