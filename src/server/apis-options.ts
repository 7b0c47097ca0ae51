/** The options of all APIs together, and their checks. */
import type { Api } from '../apis/endpoint/api.ts';
import type { FileStore } from '../ports/files/file-store.ts';
import type { GuardOptions } from '../ports/guard.ts';
import type { Hooks } from '../ports/hooks.ts';
import { isFunction, type OptionCheck, withMethods } from '../ports/host/options-check.ts';
import type { ToolProvider } from '../ports/tool-provider.ts';
import { isRecord } from '../protocol/record.ts';
import { coreChecks } from './options/option-checks.ts';
import type { AnyCoreOptions, CoreOptions } from './options/options.ts';

/** What `openResponses` needs of an inspector: `createInspector()` makes one. */
export interface ObservingInspector {
  /** Returns the options with the inspector's parts in them. */
  observe<Options extends AnyCoreOptions>(options: Options): Options & { readonly hooks: Hooks };
  /** Ends the connections of open pages. */
  close(): void;
}

/** The options of all APIs together: those of a router, and what else there is to serve. */
export interface ApisOptions<Req = unknown> extends CoreOptions<Req> {
  /** Tools that the server runs itself, for every request or by request. Default: none. */
  // Providers and guards for any request would make `unknown` of the request that the host's own functions receive.
  readonly tools?:
    | ToolProvider<NoInfer<Req>>
    | readonly ToolProvider<NoInfer<Req>>[]
    | ((request: Req) => readonly ToolProvider<NoInfer<Req>>[])
    | undefined;
  /** What may go in and come out: guards such as `pii()`, for each direction. Default: none. */
  readonly guards?: GuardOptions<NoInfer<Req>> | undefined;
  /**
   * The APIs besides those of models, such as `filesApi({ files })` and `vectorStores.api`. Their `files` are those of the
   * option `files`, too. Default: none.
   */
  readonly apis?: readonly Api[] | undefined;
  /** Records the requests of all APIs; you mount its page, `inspector.router`, yourself. Default: none. */
  readonly inspector?: ObservingInspector | undefined;
}

/** The tenant of a request of the host's framework. */
export type AnyScope = ((request: never) => string) | undefined;

/** The checks of the options, to which a host adds its own. */
export const apisChecks: Readonly<Record<string, OptionCheck>> = {
  ...coreChecks,
  apis: (value) =>
    (Array.isArray(value) && value.every((api) => isRecord(api) && isFunction(api.open) === true)) ||
    'a list of APIs, such as filesApi({ files }) and vectorStores.api',
  inspector: (value) => withMethods('observe', 'close')(value) === true || 'made by createInspector()',
};

/** The one store of uploaded files. Throws a `TypeError` if a request would look for files elsewhere than where they are uploaded. */
export function sharedFiles(owner: string, option: FileStore | undefined, apis: readonly Api[]): FileStore | undefined {
  const named = [{ name: 'the option files', files: option }, ...apis].flatMap(({ name, files }) =>
    files ? [{ name, files }] : [],
  );
  const [first] = named;
  const other = named.find(({ files }) => files !== first?.files);
  if (!first || !other) return first?.files;
  const names = `'${first.files.name}' of ${first.name} and '${other.files.name}' of ${other.name}`;
  throw new TypeError(
    `${owner}: files must be one store for all, or requests do not find what was uploaded, got ${names}`,
  );
}
