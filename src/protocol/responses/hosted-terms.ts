/** The terms that a request sets for a tool that a server runs: which fields are known here, and which of the others forbid something. */
import { isRecord, type JsonObject } from '../record.ts';
import { kindServing, requestedType } from '../tool-calls/kinds.ts';
import { mcpCall } from '../tool-calls/mcp-call.ts';

/** Words of a field's name that say that it restricts. */
const RESTRICTING: ReadonlySet<string> = new Set([
  ...['allow', 'allowed', 'allowlist', 'approval', 'block', 'blocked', 'blocklist', 'deny', 'denied', 'denylist'],
  ...['disable', 'disabled', 'disallow', 'disallowed', 'exclude', 'excluded', 'external', 'filter', 'filters'],
  ...['forbid', 'forbidden', 'limit', 'limits', 'max', 'maximum', 'network', 'no', 'only', 'permission'],
  ...['permissions', 'policy', 'read', 'require', 'required', 'restrict', 'restricted', 'safe', 'safety', 'scope'],
  ...['scopes', 'trusted', 'without'],
]);

/** Whether the field's name says that it restricts what a tool may do. */
export function isRestricting(field: string): boolean {
  return field.split('_').some((word) => RESTRICTING.has(word));
}

/**
 * The fields of the request's tool that restrict it and that nothing here keeps, such as `filters.published_after`: the
 * tool must not run. Empty for a tool of a type that no server runs. `runsPrograms` says whether programs of the model's run here, for
 * which alone some tools are.
 */
export function unsupportedTerms(tool: JsonObject, runsPrograms = false): readonly string[] {
  const kind = tool.type === 'mcp' ? mcpCall : kindServing(String(requestedType(tool.type)));
  const kept = kind?.keptTerms;
  if (!kept) return [];
  const unkept = Object.keys(tool)
    .filter(isRestricting)
    .flatMap((field) => {
      const value = tool[field];
      if (value === undefined || value === null || field === CALLERS) return [];
      // The field, or its inner fields where those are known one by one.
      if (!isRecord(value) || !kept.some((path) => path.startsWith(`${field}.`))) return [field];
      const inner = Object.keys(value).filter((name) => value[name] !== undefined && value[name] !== null);
      return inner.map((name) => `${field}.${name}`);
    });
  const hasCaller = isCalledByModels(tool) || (runsPrograms && isCalledByPrograms(tool));
  return [...unkept.filter((path) => !kept.includes(path)), ...(hasCaller ? [] : [CALLERS])];
}

const CALLERS = 'allowed_callers';

/** Whether the model's programs may call the tool. */
export function isCalledByPrograms({ allowed_callers: callers }: JsonObject): boolean {
  return Array.isArray(callers) && callers.includes('programmatic');
}

/** Whether the model itself may call the tool: some are for the model's programs alone. */
export function isCalledByModels({ allowed_callers: callers }: JsonObject): boolean {
  return !Array.isArray(callers) || callers.length === 0 || callers.includes('direct');
}
