/** The tools that the client runs, of any form, as functions that any model can call. */

import type { ToolDefinition } from '../../../../protocol/model-request.ts';
import { isRecord, type JsonObject, plainText } from '../../../../protocol/record.ts';
import { isCalledByModels, isCalledByPrograms } from '../../../../protocol/responses/hosted-terms.ts';
import { FOUND } from '../../../../protocol/responses/input-items.ts';
import type { ToolForm } from '../../../../protocol/tool-calls/kind.ts';
import { CLIENT_CALL_KINDS, isClientTool } from '../../../../protocol/tool-calls/kinds.ts';
import { namespacedName, toModelSafeName } from '../../../../protocol/tool-calls/names/tool-names.ts';

/** One tool as the model is offered it, and how its calls are shown to the client. */
export interface ClientTool {
  readonly definition: ToolDefinition;
  readonly form: ToolForm;
  /** The client's own definition of a tool that the model is not offered before it has found it. */
  readonly deferred?: JsonObject;
  /** What the client says of the tool's namespace. */
  readonly namespaceDescription?: string;
}

/** The tools by the model's name for them, and those that the client cannot run. */
export interface ClientTools {
  readonly known: ReadonlyMap<string, ClientTool>;
  readonly unknown: readonly JsonObject[];
  /** The names that several tools would have; the first one has it. */
  readonly repeated: readonly string[];
  /** The names of tools that the model may not call itself. */
  readonly indirect: readonly string[];
  /** The tools that the model's programs may call, by the model's names for them. */
  readonly programs: ReadonlyMap<string, ClientTool>;
}

const NO_TOOLS: ClientTools = { known: new Map(), unknown: [], repeated: [], indirect: [], programs: new Map() };

/** Carries the description of a namespace with each of its tools, within this file. */
const ABOUT_NAMESPACE = 'namespace_description';

/** Reads the tools of a request; those of a namespace are flattened, since models have no namespaces. */
export function readClientTools(tools: readonly JsonObject[]): ClientTools {
  if (tools.length === 0) return NO_TOOLS;
  const known = new Map<string, ClientTool>();
  const unknown: JsonObject[] = [];
  const repeated: string[] = [];
  const indirect: string[] = [];
  const programs = new Map<string, ClientTool>();
  const flat = tools.flatMap((tool): readonly JsonObject[] => {
    if (tool.type !== 'namespace' || !Array.isArray(tool.tools)) return [tool];
    const about = plainText(tool.description);
    return tool.tools.filter(isRecord).map((inner) => ({ ...inner, namespace: tool.name, [ABOUT_NAMESPACE]: about }));
  });
  for (const each of flat) {
    const tool = readClientTool(each);
    const name = tool?.definition.name ?? '';
    const earlier = known.get(name);
    // Whether the tool is what a search for the deferred one has found.
    const isFound = earlier?.deferred !== undefined && tool?.deferred === undefined;
    if (tool && isCalledByPrograms(each) && !programs.has(name)) programs.set(name, tool);
    if (!tool) unknown.push(each);
    else if (!isCalledByModels(each)) indirect.push(name);
    else if (earlier && !isFound) repeated.push(name);
    else known.set(name, tool);
  }
  return { known, unknown, repeated, indirect, programs };
}

function readClientTool(tool: JsonObject): ClientTool | undefined {
  const { type, name, namespace } = tool;
  if (!isClientTool(type)) return undefined;
  const { functionFor } = CLIENT_CALL_KINDS[type];
  if (functionFor) {
    const definition = functionFor(tool);
    return definition && { form: { kind: type, name: definition.name }, definition };
  }
  // A middleware reads unvalidated tools.
  if (typeof name !== 'string' || (namespace !== undefined && typeof namespace !== 'string')) return undefined;
  const isFound = namespace === undefined && tool[FOUND] === true;
  const form: ToolForm = {
    kind: type,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(isFound ? { isFound } : {}),
  };
  const about = plainText(tool[ABOUT_NAMESPACE]);
  const { namespace: _, [ABOUT_NAMESPACE]: __, ...clientDefinition } = tool;
  return {
    form,
    definition: toolDefinition(form, tool),
    ...(tool.defer_loading === true ? { deferred: clientDefinition } : {}),
    ...(about === '' ? {} : { namespaceDescription: about }),
  };
}

/** The model's name for the tool. */
export function modelToolName({ kind, name, namespace }: ToolForm): string {
  if (namespace !== undefined) return namespacedName(namespace, name);
  return kind === 'custom' ? toModelSafeName(name) : name;
}

function toolDefinition(form: ToolForm, tool: JsonObject): ToolDefinition {
  const name = modelToolName(form);
  const { description, parameters, strict, output_schema, format } = tool;
  if (form.kind !== 'custom') {
    return {
      name,
      // The casts: functions have been validated; what a middleware reads is passed on as it is.
      ...(description ? { description: description as string } : {}),
      ...(parameters ? { parameters: parameters as JsonObject } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
      ...(isRecord(output_schema) ? { outputSchema: output_schema } : {}),
    };
  }
  // Free text, possibly of a grammar, which Chat Completions can express only as the one argument of a function.
  const grammar =
    isRecord(format) && format.type === 'grammar'
      ? `The input must follow this ${plainText(format.syntax)} grammar:\n${plainText(format.definition)}`
      : '';
  const text = [plainText(description), grammar].filter(Boolean).join('\n\n');
  return { name, ...(text ? { description: text } : {}), parameters: FREE_TEXT };
}

const FREE_TEXT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};
