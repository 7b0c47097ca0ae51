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
  const { [CALLERS]: _callers, ...terms } = tool;
  const unkept = unkeptTerms(terms, kept);
  const hasCaller = isCalledByModels(tool) || (runsPrograms && isCalledByPrograms(tool));
  return hasCaller ? unkept : [...unkept, CALLERS];
}

/** How deep the terms of a tool are read: those of OpenAI's have three levels. */
const MAX_DEPTH = 6;

/** Where terms are looked for. */
interface TermsPlace {
  /** The path of the object, with a dot at its end. */
  readonly prefix: string;
  readonly depth: number;
  /** Whether it is the value of a restricting field, so that each field of it restricts. */
  readonly isRestriction: boolean;
}

/** The paths of the restricting fields, at any depth, that are not `kept`; what is below a kept one is read by whoever keeps it. */
function unkeptTerms(
  terms: JsonObject,
  kept: readonly string[],
  { prefix, depth, isRestriction }: TermsPlace = { prefix: '', depth: 1, isRestriction: false },
): readonly string[] {
  return Object.entries(terms).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    if (value === undefined || value === null || kept.includes(path)) return [];
    const restricts = isRestriction || isRestricting(name);
    const hasKnownTerms = kept.some((each) => each.startsWith(`${path}.`));
    // The field, or its inner fields where those are known one by one.
    if (restricts && !(isRecord(value) && hasKnownTerms)) return [path];
    if (!isRecord(value)) return [];
    if (depth === MAX_DEPTH) return [path];
    return unkeptTerms(value, kept, { prefix: `${path}.`, depth: depth + 1, isRestriction: restricts });
  });
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
