/**
 * Alternatives to this package, which are started if they are installed in build/peers, which git ignores. Each has the commands that
 * install it, and how it is run in front of a Chat Completions server.
 */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../build/peers/', import.meta.url));
/** Programs in Python take long to start. */
const STARTS_WITHIN_MS = 90_000;

/** By name: the file that must exist, how to install it, and the program with its arguments and environment. */
export const PEERS = {
  'responses.js': {
    installed: 'responses.js/dist/index.js',
    install: [
      'git clone https://github.com/huggingface/responses.js build/peers/responses.js',
      'cd build/peers/responses.js && npm install --ignore-scripts --legacy-peer-deps && npx tsup "src/*.ts" --format cjs,esm --clean',
    ],
    run: (model, port) => ({
      program: [process.execPath, join(FOLDER, 'responses.js/dist/index.js')],
      env: { OPENAI_BASE_URL: `${model}/v1`, PORT: String(port), LOG_LEVEL: 'silent', NODE_ENV: 'production' },
    }),
  },
  'open-responses-server': {
    installed: 'ors/bin/otc',
    install: ['python3 -m venv build/peers/ors && build/peers/ors/bin/pip install open-responses-server'],
    // Below /v1 it passes requests on unchanged.
    path: '',
    run: (model, port) => ({
      program: [join(FOLDER, 'ors/bin/otc'), 'start'],
      env: {
        OPENAI_BASE_URL_INTERNAL: model,
        OPENAI_BASE_URL: `http://127.0.0.1:${port}`,
        OPENAI_API_KEY: 'bench',
        API_ADAPTER_HOST: '127.0.0.1',
        API_ADAPTER_PORT: String(port),
        LOG_LEVEL: 'ERROR',
      },
    }),
  },
  'LiteLLM proxy': {
    installed: 'litellm/bin/litellm',
    install: ["python3 -m venv build/peers/litellm && build/peers/litellm/bin/pip install 'litellm[proxy]'"],
    run(model, port) {
      const config = join(FOLDER, 'litellm.json');
      const server = {
        model: 'hosted_vllm/*',
        api_base: `${model}/v1`,
        api_key: 'bench',
        use_chat_completions_api: true,
      };
      // JSON is valid YAML.
      writeFileSync(config, JSON.stringify({ model_list: [{ model_name: '*', litellm_params: server }] }));
      // On loopback, for this run only, and without a key, since it would refuse that of the bench's clients.
      const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'];
      return {
        program: [join(FOLDER, 'litellm/bin/litellm'), ...args],
        env: { LITELLM_LOG: 'ERROR', LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true' },
      };
    },
  },
  'agentic-server': {
    installed: 'agentic/bin/agentic-server',
    install: ['python3 -m venv build/peers/agentic && build/peers/agentic/bin/pip install agentic-api'],
    upstream: 'responses',
    run: (model, port) => ({
      program: [
        join(FOLDER, 'agentic/bin/agentic-server'),
        ...['--llm-api-base', model, '--skip-llm-ready-check'],
        ...['--gateway-host', '127.0.0.1', '--gateway-port', String(port)],
        ...['--db-url', `sqlite://${join(FOLDER, 'agentic/bench.db')}?mode=rwc`],
      ],
      env: { OPENAI_API_KEY: 'bench', RUST_LOG: 'error', HOME: join(FOLDER, 'agentic') },
    }),
  },
  'tokligence-gateway': {
    installed: 'tokligence/gateway',
    install: [
      'git clone https://github.com/tokligence/tokligence-gateway build/peers/tokligence-gateway',
      'cd build/peers/tokligence-gateway && mkdir -p ../tokligence && go build -o ../tokligence/gateway ./cmd/gatewayd',
    ],
    run: (model, port) => ({
      program: [join(FOLDER, 'tokligence/gateway')],
      env: {
        TOKLIGENCE_OPENAI_BASE_URL: `${model}/v1`,
        TOKLIGENCE_OPENAI_API_KEY: 'bench',
        TOKLIGENCE_FACADE_PORT: String(port),
        TOKLIGENCE_WORK_MODE: 'translation',
        TOKLIGENCE_ROUTES: '*=>openai',
        TOKLIGENCE_FALLBACK_ADAPTER: 'openai',
        TOKLIGENCE_AUTH_DISABLED: 'true',
        TOKLIGENCE_TELEMETRY_ENABLED: 'false',
        TOKLIGENCE_MARKETPLACE_ENABLED: 'false',
        TOKLIGENCE_LEDGER_PATH: join(FOLDER, 'tokligence/ledger.db'),
        TOKLIGENCE_IDENTITY_PATH: join(FOLDER, 'tokligence/identity.db'),
        TOKLIGENCE_LOG_FILE_DAEMON: join(FOLDER, 'tokligence/log'),
        TOKLIGENCE_LOG_LEVEL: 'error',
      },
    }),
  },
};

/** Starts the installed peers. Returns them in the form of `--peer`, and a line for each that is not measured. */
export async function startPeers(modelPort, { folder = FOLDER, peers = PEERS } = {}) {
  const running = [];
  const missing = [];
  for (const [name, peer] of Object.entries(peers)) {
    if (existsSync(join(folder, peer.installed))) running.push(startPeer(name, peer, modelPort));
    else
      missing.push(`${name} is not installed. To install it:\n${peer.install.map((line) => `  ${line}`).join('\n')}`);
  }
  const started = await Promise.allSettled(running);
  const failed = started.flatMap(({ reason }) => (reason ? [reason.message] : []));
  return { peers: started.flatMap(({ value }) => value ?? []), notes: [...missing, ...failed] };
}

async function startPeer(name, { run, path = '/v1', upstream }, modelPort) {
  const port = await freePort();
  const { program, env } = run(`http://127.0.0.1:${modelPort}`, port);
  const [file, ...args] = program;
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  child.unref();
  process.once('exit', () => child.kill('SIGKILL'));
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  await Promise.race([
    listens(port, child),
    ended.then(() => Promise.reject(new Error(`${name} ended when it was started.`))),
  ]);
  return { name, url: `http://127.0.0.1:${port}${path}`, pid: child.pid, ...(upstream ? { upstream } : {}) };
}

async function listens(port, child) {
  for (const until = Date.now() + STARTS_WITHIN_MS; Date.now() < until && child.exitCode === null; await sleep(200)) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer) return;
  }
  throw new Error(`Nothing listens on port ${port}.`);
}

/** A port on which nobody listens. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
