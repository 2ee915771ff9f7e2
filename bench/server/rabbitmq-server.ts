import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, HOST } from '../../src/embedded-postgres/free-port.js';
import { programPath } from './programs.js';
import { ServerProcess, temporaryFolder } from './server-process.js';

const execute = promisify(execFile);

/** What its workers and producers find in their environment. */
const URL_VARIABLE = 'BENCH_RABBITMQ_URL';

/** May log in from this machine alone. */
const USER = 'guest';

/**
 * The RabbitMQ of the run, started by the bench when the first measurement needs it; each
 * measurement has a virtual host of its own.
 */
class RabbitMqServer {
  #running: Promise<Running> | undefined;
  #version = '(not started)';
  #virtualHost: string | undefined;

  /** How it is set up, for settings that are printed. */
  get settings(): string {
    return `RabbitMQ server ${this.#version}`;
  }

  /** Of a process that the bench started. */
  get url(): string {
    return process.env[URL_VARIABLE] ?? '';
  }

  /** Starts it if need be, and gives it a new virtual host in place of the last one. */
  async empty(): Promise<void> {
    const running = await (this.#running ??= this.#start());
    if (this.#virtualHost) await running.control('delete_vhost', this.#virtualHost);
    this.#virtualHost = `bench_${randomBytes(5).toString('hex')}`;
    await running.control('add_vhost', this.#virtualHost);
    await running.control('set_permissions', '-p', this.#virtualHost, USER, '.*', '.*', '.*');
    process.env[URL_VARIABLE] = `amqp://${HOST}:${running.port}/${this.#virtualHost}`;
  }

  /** In all queues of the virtual host, those in the hands of workers among them. */
  async messages(): Promise<number> {
    const { control } = await this.#started();
    const counts = await control(
      'list_queues',
      '--no-table-headers',
      '-p',
      this.#virtualHost ?? '/',
      'messages',
    );
    return counts
      .split('\n')
      .map(Number)
      .reduce((sum, count) => sum + count, 0);
  }

  async cpuSeconds(): Promise<number> {
    return (await this.#started()).server.cpuSeconds();
  }

  /** It does not count them. */
  async commands(): Promise<number> {
    return Number.NaN;
  }

  async #started(): Promise<Running> {
    if (this.#running === undefined) throw new Error('nothing has been prepared on RabbitMQ');
    return this.#running;
  }

  async #start(): Promise<Running> {
    const folder = await temporaryFolder('rabbitmq');
    const program = programPath('rabbitmq-server') ?? 'rabbitmq-server';
    const [port, distributionPort, epmdPort] = [
      await freePort(0),
      await freePort(0),
      await freePort(0),
    ];
    const env = environment(folder, port, distributionPort, epmdPort);
    await writeFile(env.RABBITMQ_ENABLED_PLUGINS_FILE, '[].\n');
    // Otherwise Erlang starts one that listens to everybody, and leaves it behind.
    const epmd = [programPath('epmd') ?? 'epmd', '-address', HOST, '-port', String(epmdPort)];
    await ServerProcess.start(epmd, folder, env);
    const server = await ServerProcess.start([program], folder, env);

    const control = async (...order: string[]): Promise<string> => {
      const tool = join(dirname(program), 'rabbitmqctl');
      const { stdout } = await execute(tool, ['--quiet', ...order], {
        env: { PATH: process.env.PATH, ...env },
      });
      return stdout.trim();
    };
    await server.untilReady(() => listens(port));
    this.#version = await control('version');
    return { server, port, control };
  }
}

interface Running {
  server: ServerProcess;
  port: number;
  /** One order of `rabbitmqctl`. @returns what it printed */
  control: (...order: string[]) => Promise<string>;
}

export const RABBITMQ_SERVER = new RabbitMqServer();

function environment(folder: string, port: number, distributionPort: number, epmdPort: number) {
  return {
    // Of the cookie that lets `rabbitmqctl` in.
    HOME: folder,
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: 'bench@localhost',
    RABBITMQ_NODE_IP_ADDRESS: HOST,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `-kernel inet_dist_use_interface {${HOST.replaceAll('.', ',')}} -start_epmd false`,
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    // No settings of the machine.
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
    // Without a shell around it that would stop it in its own way.
    RUNNING_UNDER_SYSTEMD: '1',
  };
}

/** It opens its port when all else is up. */
async function listens(port: number): Promise<void> {
  const socket = connect(port, HOST);
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
