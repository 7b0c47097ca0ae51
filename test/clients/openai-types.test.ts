/** docs/compatibility.md has a line for each field, tool, item and event of the newest `openai` package, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compatibilityNames } from '../support/compatibility.ts';
import { OpenAITypes } from './openai-types.ts';

const types = new OpenAITypes(
  'responses/responses.d.ts',
  'conversations/conversations.d.ts',
  'conversations/items.d.ts',
  'shared.d.ts',
);

/** Those of the beta `responses_multi_agent`, of which the messages of the WebSocket are here. */
const beta = new OpenAITypes('beta/responses/responses.d.ts');

/** The fields, and those of the fields that hold several settings. */
function fieldsWithin(name: string, within: Readonly<Record<string, string>>): readonly string[] {
  const inner = Object.entries(within).flatMap(([field, type]) => prefixed(field, types.fieldsOf(type)));
  return [...types.fieldsOf(name), ...inner];
}

function prefixed(prefix: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${prefix}.${name}`);
}

const SETTINGS = {
  prompt_cache_options: 'ResponseCreateParams.PromptCacheOptions',
  reasoning: 'Reasoning',
  stream_options: 'ResponseCreateParams.StreamOptions',
  text: 'ResponseTextConfig',
};

/** The tools that have fields of interest here; the others are offered or refused as a whole. */
const TOOLS = {
  apply_patch: 'ApplyPatchTool',
  code_interpreter: 'Tool.CodeInterpreter',
  custom: 'CustomTool',
  file_search: 'FileSearchTool',
  function: 'FunctionTool',
  image_generation: 'Tool.ImageGeneration',
  mcp: 'Tool.Mcp',
  namespace: 'NamespaceTool',
  shell: 'FunctionShellTool',
  tool_search: 'ToolSearchTool',
  web_search: 'WebSearchTool',
  web_search_preview: 'WebSearchPreviewTool',
};

const INPUT_ITEMS = new Set(['ResponseInputItem', 'ResponseItem', 'ConversationItem'].flatMap(typesIn));
const EVENTS = typesIn('ResponseStreamEvent');

function typesIn(union: string): readonly string[] {
  return types.valuesOf(union, 'type');
}

function toolFields(): readonly string[] {
  const fields = Object.entries(TOOLS).flatMap(([tool, type]) => prefixed(tool, types.fieldsOf(type)));
  return fields.filter((field) => !field.endsWith('.type'));
}

function socketMessages(): readonly string[] {
  const request = new Set([...types.fieldsOf('ResponseCreateParamsBase'), 'type']);
  const own = types.fieldsOf('ResponsesClientEvent.ResponseCreate').filter((field) => !request.has(field));
  const names = ['ResponsesClientEvent', 'ResponsesServerEvent'].flatMap((union) => [
    ...typesIn(union),
    ...beta.valuesOf(`Beta${union}`, 'type'),
  ]);
  const messages = new Set(names.filter((type) => !EVENTS.includes(type)));
  return [...messages, ...prefixed('response.create', own)];
}

const TABLES: Readonly<Record<string, () => Iterable<string>>> = {
  'Request fields': () => fieldsWithin('ResponseCreateParamsBase', SETTINGS),
  Tools: () => typesIn('Tool'),
  'Fields of tools': toolFields,
  Items: () => new Set([...INPUT_ITEMS, ...typesIn('ResponseOutputItem')]),
  'Values of include': () => types.textsOf('ResponseIncludable'),
  'Response fields': () => types.fieldsOf('Response'),
  'Stream events': () => EVENTS,
  'Messages of the WebSocket': socketMessages,
};

describe('docs/compatibility.md', () => {
  it.each(Object.entries(TABLES))(
    '[Q-09] has each of openai’s names under %s, once and in order',
    (heading, expected) => {
      expect(compatibilityNames(heading)).toEqual([...expected()].toSorted());
    },
  );

  it('names the version that it was compared with', () => {
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, 'node_modules/openai7/package.json'), 'utf8'),
    );
    const page = readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8');
    expect(page).toContain(`\`openai\` ${version.split('.').slice(0, 2).join('.')}.`);
  });
});

describe('the types', () => {
  /** Counted in the text, to the closing brace: four spaces, a name and a colon. */
  function counted(name: string): number {
    const body = types.text.split(`\nexport interface ${name} {\n`)[1]?.split('\n}\n')[0] ?? '';
    return body.match(/^ {4}\w+\??:/gm)?.length ?? 0;
  }

  it.each(['ResponseCreateParamsBase', 'Response', 'FunctionTool', 'NamespaceTool', 'Reasoning'])(
    'are read without losing a field of %s',
    (name) => {
      expect([types.fieldsOf(name).length, counted(name) > 2]).toEqual([counted(name), true]);
    },
  );

  it.each(['Tool', 'ResponseInputItem', 'ResponseStreamEvent', 'ResponsesClientEvent'])(
    'are read without losing a member of %s',
    (name) => {
      const [, union = ''] = new RegExp(`\nexport type ${name} = ([^;]+);`).exec(types.text) ?? [];
      const members = union
        .split('|')
        .map((member) => types.valuesOf(member.trim().replace(/^Response\w*API\./, ''), 'type'));
      expect([new Set(members.flat()).size, members.every(({ length }) => length > 0)]).toEqual([
        typesIn(name).length,
        true,
      ]);
    },
  );

  it('are refused where a name cannot be read', () => {
    expect(() => types.fieldsOf('NoSuchType')).toThrow('NoSuchType is not declared');
    expect(() => types.valuesOf('Response', 'output')).toThrow('Not a text: Array<ResponseOutputItem>');
  });
});
