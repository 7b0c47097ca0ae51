/**
 * promptfoo, which evaluates prompts.
 *
 * client: `promptfoo`
 * packages: promptfoo
 * node: 22
 * settings: providers `openai:responses:my-model` or `openai:chat:my-model` with `config: { apiBaseUrl, apiKey }`
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { apiKey, baseURL, HELLO, shows, WEATHER } from './support/scene.mjs';

const installed = join(import.meta.dirname, 'node_modules/promptfoo/package.json');
const program = join(dirname(installed), createRequire(import.meta.url)(installed).bin.promptfoo);
const env = {
  ...process.env,
  PROMPTFOO_DISABLE_TELEMETRY: '1',
  PROMPTFOO_DISABLE_UPDATE: '1',
  PROMPTFOO_CONFIG_DIR: process.env.HOME,
};
const properties = { city: { type: 'string' }, celsius: { type: 'integer' } };
const schema = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
const json_schema = { name: 'weather', strict: true, schema };

/** What the model answered, as promptfoo writes it down. */
function evaluated(api, prompt, more = {}) {
  const config = { apiBaseUrl: baseURL, apiKey, ...more };
  writeFileSync(
    'config.json',
    JSON.stringify({ prompts: [prompt], providers: [{ id: `openai:${api}:my-model`, config }] }),
  );
  execFileSync(process.execPath, [program, 'eval', '--no-cache', '--no-write', '-c', 'config.json', '-o', 'out.json'], {
    env,
  });
  const [{ response, error }] = JSON.parse(readFileSync('out.json', 'utf8')).results.results;
  if (error) throw new Error(error);
  return response.output;
}

for (const api of ['responses', 'chat']) {
  await shows(api, 'text', () => evaluated(api, HELLO));
  const response_format = { type: 'json_schema', json_schema };
  await shows(api, 'structured output', () => evaluated(api, WEATHER, { response_format }));
}
