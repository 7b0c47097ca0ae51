/** Reads the tools of type `mcp` in a request: servers by their URL, or by the label of one that the host provides. */

import type { z } from 'zod';
import type { RemoteServer, RemoteServers } from '../../../../ports/remote-servers.ts';
import type { ProvidedTool } from '../../../../ports/tool-provider.ts';
import type { ToolsetEntry } from '../../../../ports/toolset.ts';
import { ApiError, type ErrorCode } from '../../../../protocol/errors.ts';
import { lazily } from '../../../../protocol/json/lazy-schema.ts';
import { zod } from '../../../../protocol/json/packages.cjs';
import { listSchema, textPairs } from '../../../../protocol/json/schema-kinds.ts';
import type { JsonObject } from '../../../../protocol/record.ts';
import { isCalledByModels, isCalledByPrograms, unsupportedTerms } from '../../../../protocol/responses/hosted-terms.ts';
import { invalid } from '../../../../protocol/responses/invalid.ts';

/** One server that a request names, and its terms for the tools. */
export interface ServerEntry {
  readonly label: string;
  /** The field in the request, such as `tools[2]`. */
  readonly param: string;
  /** Undefined for a server of the host's own. */
  readonly remote: RemoteServer | undefined;
  /** Whether the request selects its tools. */
  readonly isFiltered: boolean;
  readonly allows: (tool: ProvidedTool) => boolean;
  readonly needsApproval: (tool: ProvidedTool) => boolean;
  /** Whether the model's programs may call its tools, beside the model or alone. */
  readonly programs: ToolsetEntry['programs'];
  /** Whether the model must find the tool first; undefined leaves that to its provider. */
  readonly defers: (tool: ProvidedTool) => boolean | undefined;
}

/** The settings that decide which servers a request may name. */
interface ServerSettings {
  readonly remoteMcp?: RemoteServers | undefined;
  /** Whether the model's programs run here. Default: false. */
  readonly runsPrograms?: boolean;
}

const filterSchema = lazily((z) =>
  // Strict: what else would select its tools could not be kept.
  z.strictObject({ tool_names: listSchema(z.string()).nullish(), read_only: z.boolean().nullish() }),
);
type Filter = z.infer<ReturnType<typeof filterSchema>>;
const approvalSchema = lazily((z) =>
  z.union([
    z.literal(['always', 'never']),
    z.strictObject({ always: filterSchema().nullish(), never: filterSchema().nullish() }),
  ]),
);
type Approval = z.infer<ReturnType<typeof approvalSchema>>;
const allowedSchema = lazily((z) => z.union([listSchema(z.string()), filterSchema()]));

/** A union whose error names the allowed values. */
function fitting<Schema extends z.ZodType>(schema: Schema, expected: string) {
  return zod()
    .z.custom<z.infer<Schema>>((value) => schema.safeParse(value).success, `it must be ${expected}`)
    .nullish();
}

/** More than any server accepts. */
const HEADERS = { pairs: 64, keyLength: 256, valueLength: 16_384 };

const entrySchema = lazily((z) =>
  z.object({
    server_label: z.string(),
    server_url: z.string().nullish(),
    connector_id: z.string().nullish(),
    tunnel_id: z.string().nullish(),
    headers: textPairs(HEADERS).nullish(),
    authorization: z.string().nullish(),
    allowed_tools: fitting(allowedSchema(), "an array of names, or an object of 'tool_names' and 'read_only'"),
    defer_loading: z.boolean().nullish(),
    require_approval: fitting(approvalSchema(), "'always', 'never', or an object with filters under these names"),
  }),
);
type Entry = z.infer<ReturnType<typeof entrySchema>>;

/** Each brings a list of tools, though many may have one URL and share its connection. */
const MAX_URLS = 16;

/**
 * The servers that the request names, in its order; `hosted` are the labels of the host's own, and whether requests may name each. Entries that this server
 * is not configured for are left out, and noted like all tools that this server cannot run. Throws `ApiError` naming the
 * field at fault; its message quotes no secret.
 */
export function serverEntries(
  tools: readonly JsonObject[],
  hosted: ReadonlyMap<string, boolean>,
  { remoteMcp, runsPrograms = false }: ServerSettings,
): readonly ServerEntry[] {
  const urls = remoteMcp ? tools.filter((tool) => tool.type === 'mcp' && tool.server_url).length : 0;
  if (urls > MAX_URLS) {
    const message = `The request names ${urls} MCP servers by URL; it may name at most ${MAX_URLS}.`;
    throw new ApiError('array_above_max_length', message, { param: 'tools' });
  }
  const labels = new Set<string>();
  const entries: ServerEntry[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'mcp') continue;
    if (!remoteMcp) {
      if (tool.server_url || tool.connector_id || tool.tunnel_id) continue;
      if (typeof tool.server_label !== 'string' || !hosted.has(tool.server_label)) continue;
    }
    entries.push(readServerEntry(tool, index, hosted, runsPrograms));
  }
  for (const { label, param } of entries) {
    if (labels.has(label))
      throw new ApiError('invalid_value', `Two tools have the label '${label}'; labels must differ.`, {
        param: `${param}.server_label`,
      });
    labels.add(label);
  }
  return entries;
}

function readServerEntry(
  tool: JsonObject,
  index: number,
  hosted: ReadonlyMap<string, boolean>,
  runsPrograms: boolean,
): ServerEntry {
  const { success, data, error } = entrySchema().safeParse(tool);
  if (!success) throw invalid(error.issues, tool, ['tools', index]);
  const { server_label: label, server_url: url, connector_id: connector, tunnel_id: tunnel } = data;
  const param = `tools[${index}]`;
  const fault: Fault = (code, field, message) => new ApiError(code, message, { param: `${param}.${field}` });
  if (connector) throw fault('unsupported_parameter', 'connector_id', NO_CONNECTORS);
  if (tunnel) throw fault('unsupported_parameter', 'tunnel_id', NO_TUNNELS);
  const [unsupported] = unsupportedTerms(tool, runsPrograms);
  if (unsupported !== undefined)
    throw fault('unsupported_parameter', unsupported, `Nothing here keeps to '${unsupported}' of a tool.`);
  refuseLongEntry(data, fault);
  if (url) {
    // Models know its tools by names that may contain the label.
    if (hosted.has(label))
      throw fault('invalid_value', 'server_label', `The label '${label}' is that of one of this server's own servers.`);
    if (!/^[\w-]{1,64}$/.test(label))
      throw fault(
        'invalid_value',
        'server_label',
        "Invalid 'server_label': it must be 1 to 64 letters, digits, _ and -.",
      );
  } else {
    // The host's own servers receive the host's own headers.
    const secret = (['headers', 'authorization'] as const).find((field) => data[field]);
    if (secret) throw fault('invalid_value', secret, `'${secret}' has no meaning without a 'server_url'.`);
    if (!hosted.get(label))
      throw fault('invalid_value', 'server_label', `This server has no tools under the label '${label}'.`);
  }
  const remote = url ? { label, url, headers: remoteHeaders(data, fault), param } : undefined;
  const programs = !isCalledByPrograms(tool) ? undefined : isCalledByModels(tool) ? 'also' : 'only';
  return { label, param, remote, programs, ...entryTerms(data) };
}

type Fault = (code: ErrorCode, field: string, message: string) => ApiError;

const NO_CONNECTORS = "Connectors are not supported here; name a 'server_url'.";
const NO_TUNNELS = "Tunnels are not supported here; name a 'server_url'.";

/** The maximum length of a URL that common web servers accept. */
const MAX_URL_CHARACTERS = 8 * 1024;
/** The maximum size of a request's headers that Node's own server accepts. */
const MAX_HEADER_CHARACTERS = 16 * 1024;

/** Each is searched for in all of the server's output, and kept in memory for that. */
function refuseLongEntry({ server_url: url, headers, authorization }: Entry, fault: Fault): void {
  const refuse = (field: string, what: string, max: number) =>
    fault('string_above_max_length', field, `Invalid '${what}': it may have at most ${max} characters in all.`);
  if (url && url.length > MAX_URL_CHARACTERS) throw refuse('server_url', 'server_url', MAX_URL_CHARACTERS);
  const length = Object.entries(headers ?? {}).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length + (authorization?.length ?? 0) <= MAX_HEADER_CHARACTERS) return;
  throw refuse(length > MAX_HEADER_CHARACTERS ? 'headers' : 'authorization', 'headers', MAX_HEADER_CHARACTERS);
}

function remoteHeaders({ headers, authorization }: Entry, fault: Fault): Readonly<Record<string, string>> {
  const own = parseHeaders(headers ?? {}, 'headers', fault);
  if (!authorization) return Object.fromEntries(own);
  if (own.has('authorization'))
    throw fault(
      'mutually_exclusive_parameters',
      'authorization',
      "Mutually exclusive parameters: 'authorization' and an Authorization header.",
    );
  const bearer = parseHeaders({ authorization: `Bearer ${authorization}` }, 'authorization', fault);
  return Object.fromEntries([...own, ...bearer]);
}

function parseHeaders(headers: Readonly<Record<string, string>>, field: string, fault: Fault): Headers {
  try {
    return new Headers(headers);
  } catch {
    // The caught error's message quotes the value.
    throw fault('invalid_value', field, `Invalid '${field}': a name or a value is not fit for a header.`);
  }
}

type Terms = Pick<ServerEntry, 'isFiltered' | 'allows' | 'needsApproval' | 'defers'>;

function entryTerms({
  allowed_tools: allowed,
  require_approval: requiredApproval,
  server_url: url,
  defer_loading,
}: Entry): Terms {
  // The cast: a list is one of names.
  const only = Array.isArray(allowed) ? { tool_names: allowed as readonly string[] } : (allowed as Filter | undefined);
  const approval: Approval = requiredApproval ?? (url ? 'always' : 'never');
  const isOneWord = typeof approval === 'string';
  // For a tool that neither filter names: the host's own are trusted if only `always` is given, others never are.
  const always = toolFilter(isOneWord ? undefined : approval.always, approval === 'always');
  const never = toolFilter(isOneWord ? undefined : approval.never, isOneWord ? approval === 'never' : !url);
  return {
    isFiltered: only !== undefined && only !== null,
    allows: toolFilter(only, true),
    // A client that names the tools wants to be offered them.
    defers: ({ deferred }) => defer_loading ?? (only?.tool_names ? false : deferred),
    needsApproval: (tool) => always(tool) || !never(tool),
  };
}

/** Whether a tool passes the filter, in which a client may list a million names; `byDefault` where there is none. */
function toolFilter(filter: Filter | null | undefined, byDefault: boolean): (tool: ProvidedTool) => boolean {
  if (!filter) return () => byDefault;
  const { tool_names: listed, read_only: readOnly } = filter;
  const names = listed ? new Set(listed) : undefined;
  return ({ name, annotations }) => {
    const isReadOnly = annotations?.readOnlyHint === true;
    return (names?.has(name) ?? true) && (readOnly ?? isReadOnly) === isReadOnly;
  };
}
