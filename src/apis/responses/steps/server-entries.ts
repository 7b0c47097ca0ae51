/** Reads the tools of type `mcp` in a request: servers by their URL, or by the label of one that the host has. */
import { z } from 'zod';
import type { RemoteServer } from '../../../ports/remote-servers.ts';
import type { ProvidedTool } from '../../../ports/tool-provider.ts';
import { ApiError, type ErrorCode } from '../../../protocol/errors.ts';
import { invalid } from '../../../protocol/responses/invalid.ts';
import type { CoreSettings } from '../../../server/options.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One server that a request names, and its terms for the tools. */
export interface ServerEntry {
  readonly label: string;
  /** Where in the request it stands, such as `tools[2]`. */
  readonly param: string;
  /** Undefined for a server of the host's own. */
  readonly remote: RemoteServer | undefined;
  /** Whether the request says which tools it wants. */
  readonly isFiltered: boolean;
  readonly allows: (tool: ProvidedTool) => boolean;
  readonly needsApproval: (tool: ProvidedTool) => boolean;
}

/** What decides which servers a request may name. */
export type ServerSettings = Pick<CoreSettings, 'remoteMcp' | 'mcpLabels'>;

const filterSchema = z.looseObject({
  tool_names: z.array(z.string()).nullish(),
  read_only: z.boolean().nullish(),
});
type Filter = z.infer<typeof filterSchema>;
const approvalSchema = z.union([
  z.literal(['always', 'never']),
  z.looseObject({ always: filterSchema.nullish(), never: filterSchema.nullish() }),
]);
type Approval = z.infer<typeof approvalSchema>;
const allowedSchema = z.union([z.array(z.string()), filterSchema]);

/** A union whose error says what it must be. */
function fitting<Schema extends z.ZodType>(schema: Schema, expected: string) {
  return z.custom<z.infer<Schema>>((value) => schema.safeParse(value).success, `it must be ${expected}`).nullish();
}

const entrySchema = z.looseObject({
  server_label: z.string(),
  server_url: z.string().nullish(),
  connector_id: z.string().nullish(),
  headers: z.record(z.string(), z.string()).nullish(),
  authorization: z.string().nullish(),
  allowed_tools: fitting(allowedSchema, "an array of names, or an object of 'tool_names' and 'read_only'"),
  require_approval: fitting(approvalSchema, "'always', 'never', or an object with filters under these names"),
});
type Entry = z.infer<typeof entrySchema>;

/**
 * The servers that the request names, in its order; `hosted` are the labels of the host's own. What this server was not
 * set up for is left out. Throws `ApiError` naming the field at fault; its message quotes no secret.
 */
export function serverEntries(
  tools: readonly Fields[],
  hosted: ReadonlySet<string>,
  settings: ServerSettings,
): readonly ServerEntry[] {
  if (settings.remoteMcp) refuseMany(tools);
  const entries = tools.flatMap((tool, index) =>
    isTurnedOn(tool, hosted, settings) ? [readEntry(tool, index, hosted, settings)] : [],
  );
  refuseRepeated(entries);
  return entries;
}

/** Each brings a list of tools, though many may have one URL and share its connection. */
const MOST_URLS = 16;

function refuseMany(tools: readonly Fields[]): void {
  const urls = tools.filter((tool) => tool.type === 'mcp' && tool.server_url).length;
  if (urls <= MOST_URLS) return;
  const message = `The request names ${urls} MCP servers by URL; it may name at most ${MOST_URLS}.`;
  throw new ApiError('array_above_max_length', message, { param: 'tools' });
}

/** Whether this server was set up for such an entry; what is not is noted, as all tools that nobody here can run. */
function isTurnedOn(tool: Fields, hosted: ReadonlySet<string>, { remoteMcp, mcpLabels }: ServerSettings): boolean {
  if (tool.type !== 'mcp') return false;
  if (remoteMcp) return true;
  if (tool.server_url || tool.connector_id) return false;
  return mcpLabels !== undefined || hosted.has(String(tool.server_label));
}

function readEntry(
  tool: Fields,
  index: number,
  hosted: ReadonlySet<string>,
  { mcpLabels = [...hosted] }: ServerSettings,
): ServerEntry {
  const { success, data, error } = entrySchema.safeParse(tool);
  if (!success) throw invalid(error.issues, tool, ['tools', index]);
  const { server_label: label, server_url: url, connector_id: connector } = data;
  const param = `tools[${index}]`;
  const fault: Fault = (code, field, message) => new ApiError(code, message, { param: `${param}.${field}` });
  if (connector) throw fault('unsupported_parameter', 'connector_id', NO_CONNECTORS);
  if (url) refuseLabel(label, hosted, fault);
  else refuseStrange(data, hosted.has(label) && mcpLabels.includes(label), fault);
  const remote = url ? { label, url, headers: headersOf(data, fault), param } : undefined;
  return { label, param, remote, ...termsOf(data) };
}

type Fault = (code: ErrorCode, field: string, message: string) => ApiError;

const NO_CONNECTORS = "Connectors are not supported here; name a 'server_url'.";

/** Models know its tools by names that the label may be part of. */
function refuseLabel(label: string, hosted: ReadonlySet<string>, fault: Fault): void {
  if (hosted.has(label))
    throw fault('invalid_value', 'server_label', `The label '${label}' is that of one of this server's own servers.`);
  if (!/^[\w-]{1,64}$/.test(label))
    throw fault(
      'invalid_value',
      'server_label',
      "Invalid 'server_label': it must be 1 to 64 letters, digits, _ and -.",
    );
}

/** The host's own servers get the host's own headers. */
function refuseStrange({ server_label: label, ...entry }: Entry, isKnown: boolean, fault: Fault): void {
  const secret = (['headers', 'authorization'] as const).find((field) => entry[field]);
  if (secret) throw fault('invalid_value', secret, `'${secret}' has no meaning without a 'server_url'.`);
  if (!isKnown) throw fault('invalid_value', 'server_label', `This server has no tools under the label '${label}'.`);
}

function headersOf({ headers, authorization }: Entry, fault: Fault): Readonly<Record<string, string>> {
  const given = headersIn(headers ?? {}, 'headers', fault);
  if (!authorization) return Object.fromEntries(given);
  if (given.has('authorization'))
    throw fault(
      'mutually_exclusive_parameters',
      'authorization',
      "Mutually exclusive parameters: 'authorization' and an Authorization header.",
    );
  const own = headersIn({ authorization: `Bearer ${authorization}` }, 'authorization', fault);
  return Object.fromEntries([...given, ...own]);
}

function headersIn(headers: Readonly<Record<string, string>>, field: string, fault: Fault): Headers {
  try {
    return new Headers(headers);
  } catch {
    // The message of what is caught quotes the value.
    throw fault('invalid_value', field, `Invalid '${field}': a name or a value is not fit for a header.`);
  }
}

type Terms = Pick<ServerEntry, 'isFiltered' | 'allows' | 'needsApproval'>;

function termsOf({ allowed_tools: allowed, require_approval: approval, server_url: url }: Entry): Terms {
  const only = Array.isArray(allowed) ? { tool_names: allowed } : allowed;
  return {
    isFiltered: only !== undefined && only !== null,
    allows: (tool) => !only || passes(only, tool),
    needsApproval: approvalOf(approval ?? (url ? 'always' : 'never'), !url),
  };
}

/** Of a tool that neither filter names: the host's own are trusted where only `always` is told, others never are. */
function approvalOf(approval: Approval, isHosted: boolean): (tool: ProvidedTool) => boolean {
  if (typeof approval === 'string') return () => approval === 'always';
  const { always, never } = approval;
  return (tool) => {
    if (always && passes(always, tool)) return true;
    return !(never ? passes(never, tool) : isHosted);
  };
}

function passes({ tool_names: names, read_only: readOnly }: Filter, { name, annotations }: ProvidedTool): boolean {
  const isReadOnly = annotations?.readOnlyHint === true;
  return (names?.includes(name) ?? true) && (readOnly ?? isReadOnly) === isReadOnly;
}

function refuseRepeated(entries: readonly ServerEntry[]): void {
  const seen = new Set<string>();
  for (const { label, param } of entries) {
    if (seen.has(label))
      throw new ApiError('invalid_value', `Two tools have the label '${label}'; labels must differ.`, {
        param: `${param}.server_label`,
      });
    seen.add(label);
  }
}
