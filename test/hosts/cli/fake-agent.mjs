#!/usr/bin/env node
/** Stands for every coding agent: says how it was started, and asks the server that its settings name. Its arguments say what else it does. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const name = basename(process.argv[1]);
const args = process.argv.slice(2);
const { env } = process;

/** Where the settings are, where they say the server is, and with which key. */
function settings() {
  if (name === 'codex') {
    const text = readFileSync(join(env.CODEX_HOME, 'config.toml'), 'utf8');
    const value = (key) => new RegExp(`^${key} = "(.*)"$`, 'm').exec(text)?.[1];
    return {
      folder: env.CODEX_HOME,
      url: `${value('base_url')}/responses`,
      key: env[value('env_key')],
      model: value('model'),
    };
  }
  if (name === 'claude')
    return {
      folder: env.CLAUDE_CONFIG_DIR,
      url: `${env.ANTHROPIC_BASE_URL}/v1/messages`,
      key: env.ANTHROPIC_AUTH_TOKEN,
      model: env.ANTHROPIC_MODEL,
    };
  if (name === 'opencode') {
    const { model, provider } = JSON.parse(readFileSync(env.OPENCODE_CONFIG, 'utf8'));
    const { baseURL, apiKey } = provider.openai.options;
    return {
      folder: join(env.OPENCODE_CONFIG, '..'),
      url: `${baseURL}/responses`,
      key: apiKey,
      model: model.slice('openai/'.length),
    };
  }
  const { local } = JSON.parse(readFileSync(join(env.PI_CODING_AGENT_DIR, 'models.json'), 'utf8')).providers;
  return {
    folder: env.PI_CODING_AGENT_DIR,
    url: `${local.baseUrl}/responses`,
    key: local.apiKey,
    model: local.models[0].id,
  };
}

const { folder, url, key, model } = settings();
// As Claude Code does.
if (name === 'claude') console.error(`[claude-code:unrecognized_model] ${JSON.stringify({ model })}`);
if (args[0] === 'complain') process.stderr.write('Something is wrong.\n[claude-code: that is all');
const question = { role: 'user', content: args.at(-1) ?? 'Hi.' };
const body = name === 'claude' ? { model, max_tokens: 100, messages: [question] } : { model, input: [question] };
const answer = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  body: JSON.stringify(body),
});
const files = Object.fromEntries(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
console.log(JSON.stringify({ name, args, folder, files, env, status: answer.status, answer: await answer.json() }));
if (args[0] === 'exit') process.exitCode = Number(args[1]);
if (args[0] === 'die') process.kill(process.pid, 'SIGKILL');
if (args[0] === 'wait') {
  process.on('SIGTERM', () => {
    console.log('stopped');
    process.exit(9);
  });
  setInterval(() => {}, 60_000);
}
