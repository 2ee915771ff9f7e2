import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('./netty/NettyWheel.java', import.meta.url));
/** Where Debian's libnetty-java puts it; NETTY_COMMON_JAR names another. */
const JAR = process.env['NETTY_COMMON_JAR'] ?? '/usr/share/java/netty-common.jar';
/** The collector that steals the least from a machine of two cores. */
const JVM_OPTIONS = ['-Xmx2g', '-XX:+UseSerialGC'];

export const NETTY_MISSING =
  'NETTY IS LEFT OUT: no javac, or no netty-common.jar. ' +
  'Debian: apt-get install default-jdk-headless libnetty-java; elsewhere set NETTY_COMMON_JAR.';

export interface NettyMeasurement {
  addNs: number;
  cancelNs: number;
  unlinkNs: number;
  addAgainNs: number;
  fireDenseNs: number;
  bytes: number;
}

/** Netty's HashedWheelTimer in a Java process of its own, which stays warm between the rounds. */
export class Netty {
  readonly #java: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;
  readonly #answers: AsyncIterator<string>;

  private constructor(private readonly directory: string) {
    const options = [...JVM_OPTIONS, '-cp', `${directory}:${JAR}`, 'NettyWheel'];
    this.#java = spawn('java', options, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface(this.#java.stdout);
    this.#answers = this.#lines[Symbol.asyncIterator]();
  }

  /** @returns undefined when this machine has no Java compiler or no Netty */
  static async open(): Promise<Netty | undefined> {
    if (!existsSync(JAR)) return undefined;
    const directory = mkdtempSync(join(tmpdir(), 'netty-wheel-'));
    try {
      execFileSync('javac', ['-d', directory, '-cp', JAR, SOURCE], { stdio: 'pipe' });
    } catch (error) {
      rmSync(directory, { recursive: true });
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
    const netty = new Netty(directory);
    await netty.#answer();
    return netty;
  }

  async measure(
    spreadMs: Float64Array,
    denseMs: Float64Array,
    half: Int32Array,
  ): Promise<NettyMeasurement> {
    const count = Float64Array.of(spreadMs.length);
    const file = join(this.directory, 'round');
    const parts = [count, spreadMs, denseMs, Float64Array.from(half)];
    writeFileSync(file, Buffer.concat(parts.map((part) => new Uint8Array(part.buffer))));
    this.#java.stdin.write(`${file}\n`);
    return JSON.parse(await this.#answer()) as NettyMeasurement;
  }

  close(): void {
    this.#java.stdin.end();
    this.#lines.close();
    rmSync(this.directory, { recursive: true });
  }

  async #answer(): Promise<string> {
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error('The Java process has ended; see its messages above.');
    return value;
  }
}
