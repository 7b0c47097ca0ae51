/** Checks our output against the published Open Responses schema, if that file is on this machine. */

import { inspect } from 'node:util';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../src/protocol/record.ts';
import { isNativeEvent, withoutNatives } from './native-items.ts';
import { hasShared, readShared } from './shared.ts';

/** OpenAI's own events and items that Open Responses does not have; each is sent on purpose. */
const BEYOND_THE_SPEC =
  /^(keepalive|ping|response\.reasoning_text\..*|(response\.)?(compaction\.compacting|mcp|custom_tool_call|web_search|image_generation|code_interpreter|program|tool_search|shell_call|local_shell|apply_patch)(_.*)?)$/;

const schema = hasShared ? openResponses() : undefined;

/** Throws if Open Responses would refuse the resource; does nothing if the schema is not on this machine. */
export function expectValidResponse(response: unknown): void {
  schema?.('ResponseResource', conforming(withoutFiles(response as JsonObject)));
}

/** Throws if Open Responses would refuse the compaction; does nothing if the schema is not on this machine. */
export function expectValidCompaction(compaction: unknown): void {
  schema?.('CompactResource', compaction);
}

/** Throws if Open Responses would refuse the event; does nothing if the schema is not on this machine. */
export function expectValidEvent(given: { readonly type: string }): void {
  const event = withoutFiles(given);
  const { response, item } = event as { readonly response?: JsonObject; readonly item?: { readonly type: string } };
  if (isNativeEvent(event)) return;
  if (!schema || BEYOND_THE_SPEC.test(event.type) || (item && BEYOND_THE_SPEC.test(item.type))) return;
  schema(event.type, response === undefined ? event : { ...event, response: conforming(response) });
}

/** Without annotations of files, which OpenAI has and Open Responses lacks. */
function withoutFiles<Value>(value: Value): Value {
  const isPage = (annotation: unknown) => (annotation as { readonly type: string }).type === 'url_citation';
  if (!JSON.stringify(value).includes('file_citation')) return value;
  const text = JSON.stringify(value, (key, each) => {
    if (key === 'annotation' && !isPage(each)) return null;
    return key === 'annotations' && Array.isArray(each) ? each.filter(isPage) : each;
  });
  return JSON.parse(text);
}

/** Validates against a schema named by its component or by the `type` of its event. */
function openResponses(): (name: string, value: unknown) => void {
  const document = JSON.parse(readShared('data/openresponses-2026-04-24.openapi.json'));
  // Each file that reads answers compiles it anew, and most of that is what these two leave out.
  const cheap = { validateSchema: false, code: { optimize: false } } as const;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false, ...cheap });
  ajv.addSchema({ $id: 'open-responses', ...document });
  const components: Readonly<Record<string, JsonObject>> = document.components.schemas;
  const names = new Map(Object.entries(components).map(([name, component]) => [eventTypeOf(component) ?? name, name]));
  const compiled = new Map<string, ValidateFunction>();

  return (name, value) => {
    const component = names.get(name);
    if (component === undefined) throw new Error(`Open Responses has nothing named '${name}'`);
    const validate =
      compiled.get(component) ?? ajv.compile({ $ref: `open-responses#/components/schemas/${component}` });
    compiled.set(component, validate);
    if (validate(value)) return;
    const faults = ajv.errorsText(validate.errors, { separator: '\n' });
    throw new Error(`Open Responses refuses this ${component}:\n${faults}\n${inspect(value, { depth: 8 })}`);
  };
}

/** Items have a type too; only those of events are numbered. */
function eventTypeOf(component: JsonObject): string | undefined {
  const properties = component.properties as Readonly<Record<string, { enum?: readonly string[] }>> | undefined;
  return properties?.sequence_number && properties.type?.enum?.[0];
}

/** The resource without our deliberate deviations: the schema has no room for them, and clients need them. */
function conforming(response: JsonObject): JsonObject {
  const {
    text,
    tools,
    tool_choice: choice,
    reasoning,
    output,
  } = response as {
    readonly output?: readonly { readonly type: string }[];
    readonly text?: { readonly format?: JsonObject };
    readonly tools?: readonly JsonObject[];
    readonly tool_choice?: unknown;
    readonly reasoning?: JsonObject | null;
  };
  return {
    ...response,
    ...(text?.format && 'schema' in text.format ? { text: { ...text, format: { ...text.format, schema: null } } } : {}),
    ...(output ? { output: withoutNatives(output).filter(({ type }) => !BEYOND_THE_SPEC.test(type)) } : {}),
    ...(tools ? { tools: tools.filter(({ type }) => type === 'function') } : {}),
    // OpenAI's own kinds of tools may be chosen too.
    ...(/code_interpreter|"type":"tool_search"/.test(String(JSON.stringify(choice))) ? { tool_choice: 'auto' } : {}),
    ...(namesServer(choice) ? { tool_choice: 'auto' } : {}),
    // Model servers have efforts and summaries that the specification's lists lack; they are echoed as requested.
    ...(reasoning
      ? { reasoning: { ...reasoning, effort: unlessNamed(reasoning.effort), summary: unlessNamed(reasoning.summary) } }
      : {}),
  };
}

/** Null for a name. */
function unlessNamed(value: unknown): unknown {
  return typeof value === 'string' ? null : value;
}

/** Whether a server of tools is chosen, or is among the tools that are allowed. */
function namesServer(choice: unknown): boolean {
  const { type, tools = [] } = Object(choice) as { readonly type?: unknown; readonly tools?: readonly JsonObject[] };
  return type === 'mcp' || tools.some((tool) => tool.type === 'mcp');
}
