/** The table of providers, and the page that prints it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chatCompletionsUpstream } from '../../src/index.ts';
import { chatSettings } from '../../src/upstreams/chat-completions/chat-options.ts';
import {
  findProvider,
  PROVIDERS,
  type Provider,
  type ProviderSettings,
  USUAL,
} from '../../src/upstreams/chat-completions/providers.ts';
import { SeenFields } from '../../src/upstreams/chat-completions/seen-fields.ts';
import { optionNames } from '../support/option-names.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8');

/** The row of a provider but for what it was tested with. */
function rowOf(name: string, provider: Provider): string {
  const hosts = provider.hosts.map((host) => `\`${host}\``).join(', ') || 'by name';
  const words = provider.reasoningReplay ? 'yes' : 'no';
  const { reasoningField, maxTokensField, developerRole } = provider;
  return `| \`${name}\` | ${hosts} | \`${reasoningField}\` | ${words} | \`${maxTokensField}\` | \`${developerRole}\` |`;
}

/** The settings of the second table, in its order. */
const LIMITS = [
  'refusedFields',
  'efforts',
  'imageDetails',
  'callIds',
  'maxToolName',
  'maxToolDescription',
  'maxOutputTokens',
  'unstreamedFormats',
  'toolSchemas',
  'lastMessage',
  'afterToolResults',
  'blankText',
  'reasoningRequired',
  'costAfterDone',
] as const satisfies readonly (keyof ProviderSettings)[];

/** The rows of the second table: each setting that is not the default, without its source. */
function limitRows(): readonly string[] {
  return Object.entries<Provider>(PROVIDERS).flatMap(([name, provider]) =>
    LIMITS.filter((setting) => JSON.stringify(provider[setting]) !== JSON.stringify(USUAL[setting])).map(
      (setting) => `| \`${name}\` | \`${setting}\` | ${cell(provider[setting])} |`,
    ),
  );
}

function cell(value: unknown): string {
  if (Array.isArray(value)) return value.map((each) => `\`${each}\``).join(', ');
  if (typeof value !== 'object' || value === null) return `\`${value}\``;
  return Object.entries(value)
    .map(([name, each]) => `\`${name}\`: \`${each}\``)
    .join(', ');
}

describe('docs/providers.md', () => {
  it('[V-02] has the row of every provider, with what it was tested with, and no other', () => {
    const rows = page.split('\n').filter((line) => /^\| `[\w.-]+` \|/.test(line) && line.split('|').length === 9);
    const expected = Object.entries<Provider>(PROVIDERS).map(([name, provider]) => rowOf(name, provider));
    expect(rows.map((row) => row.slice(0, row.lastIndexOf('|', row.length - 2) + 1))).toEqual(expected);
    expect(rows.filter((row) => !/(recordings|documentation only|reports)[^|]*\|$/.test(row))).toEqual([]);
  });

  it('[V-22] has each setting in which a provider differs, with its source', () => {
    const rows = page
      .split('\n')
      .filter((line) => /^\| `[\w.-]+` \| `\w+` \|/.test(line) && line.split('|').length === 6);
    expect(rows.map((row) => row.slice(0, row.lastIndexOf('|', row.length - 2) + 1))).toEqual(limitRows());
    expect(rows.filter((row) => (row.split('|').at(-2) ?? '').trim() === '')).toEqual([]);
  });

  it('[V-22] has each option of the upstream', () => {
    const options = optionNames(chatCompletionsUpstream);
    const of = (name: string) => new RegExp(`^\\| \`${name}\` \\|`, 'm').test(page);
    expect(options.filter((name) => !SHARED.has(name) && !of(name))).toEqual([]);
  });

  it('[O-11] says which providers obey more or fewer forms of tool_choice than names', () => {
    const others = Object.entries<Provider>(PROVIDERS).filter(([, { toolChoice }]) => toolChoice !== 'names');
    const said = others.map(([name, { toolChoice }]) => `\`${name}\` has \`'${toolChoice}'\``);
    expect(said.filter((words) => !page.includes(words))).toEqual([]);
    expect(said.length).toBe(3);
  });

  it('[V-02] holds for system messages, too', () => {
    expect(Object.values<Provider>(PROVIDERS).filter(({ systemMessages }) => systemMessages !== 'keep')).toEqual([]);
  });
});

/** Options of the connection, which docs/options.md has. */
const SHARED: ReadonlySet<string> = new Set([
  'baseURL',
  'apiKey',
  'headers',
  'forwardHeaders',
  'retries',
  'connectTimeoutMs',
  'provider',
]);

describe('the provider', () => {
  const of = (baseURL: string) => findProvider('auto', new URL(baseURL));

  it('[V-02] is found by the host, and by nothing that only looks like it', () => {
    const { groq, azure, ollama, snowflake } = PROVIDERS;
    expect([
      of('https://api.groq.com/openai/v1'),
      of('https://mine.openai.azure.com/openai/v1'),
      of('http://localhost:11434/v1'),
      of('https://a-b.snowflakecomputing.com/api'),
    ]).toEqual([groq, azure, ollama, snowflake]);
    const usual = of('http://localhost:8000/v1');
    for (const other of ['https://notapi.groq.com', 'https://api.groq.com.evil.example', 'http://h:1143/api.groq.com'])
      expect(of(other)).toBe(usual);
  });

  it('[V-02] decides what the host has not, and gives way where it has', () => {
    const settings = (options: object) => {
      const { maxTokensField, developerRole, reasoningReplay, reasoningField } = chatSettings({
        apiKey: 'k',
        ...options,
      });
      return [maxTokensField, developerRole, reasoningReplay, reasoningField];
    };
    const baseURL = 'https://api.openai.com/v1';
    expect([
      settings({ baseURL }),
      settings({ baseURL: 'http://h/v1', provider: 'openai' }),
      settings({
        baseURL,
        provider: 'auto',
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        reasoningReplay: true,
      }),
      settings({ baseURL: 'http://h/v1' }),
    ]).toEqual([
      ['max_completion_tokens', 'keep', false, 'reasoning_content'],
      ['max_completion_tokens', 'keep', false, 'reasoning_content'],
      ['max_tokens', 'system', true, 'reasoning_content'],
      ['max_tokens', 'system', true, 'reasoning_content'],
    ]);
  });

  it('[V-02] [F-31] is one of those that are known', () => {
    const wrong = (options: object) => () => chatCompletionsUpstream({ baseURL: 'http://h/v1', ...options });
    expect(wrong({ provider: 'grok' })).toThrow(
      /^chatCompletionsUpstream: provider must be one of 'auto', 'openai', .*'github-copilot', got 'grok'$/,
    );
    expect(wrong({ provider: 'toString' })).toThrow(TypeError);
    expect(wrong({ reasoningReplay: 'yes' })).toThrow(
      "chatCompletionsUpstream: reasoningReplay must be 'auto', true or false, got 'yes'",
    );
  });

  it('[V-02] [F-12] is remembered for so many models, whatever clients call them', () => {
    const seen = new SeenFields();
    seen.remember('x'.repeat(10_000), 'reasoning');
    for (let model = 0; model < 300; model += 1) seen.remember(String(model), 'reasoning');
    seen.remember('299', 'thinking');
    expect(['x'.repeat(10_000), '0', '43', '44', '299'].map((model) => seen.get(model))).toEqual([
      undefined,
      undefined,
      undefined,
      'reasoning',
      'thinking',
    ]);
  });
});
