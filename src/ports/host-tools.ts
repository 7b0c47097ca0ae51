/** The option `tools` of every function that has it: providers for every request, or a function of the host that chooses them. */

import { fromHost } from './host/host-error.ts';
import { type OptionCheck, withMethods } from './host/options-check.ts';
import type { ToolProvider, ToolsOf } from './tool-provider.ts';

const isProvider = withMethods('list', 'call');

/** Whether the value is such an option. */
export const areTools: OptionCheck = (value) =>
  typeof value === 'function' ||
  (Array.isArray(value) ? value : [value]).every((each) => isProvider(each) === true) ||
  'tool providers, such as functionTools({ … }) or mcpTools({ … }), or a function';

/** The tools of a host. */
interface HostTools {
  /** Those of every request; undefined if the host chooses them by request. */
  readonly providers: readonly ToolProvider[] | undefined;
  /** Those of one request. Throws `HostError` if the host's function throws. */
  readonly toolsOf: ToolsOf;
}

/** The tools that the option names; none for undefined. The request is the host's own, as its functions expect it. */
export function hostTools(
  tools: ToolProvider<never> | readonly ToolProvider<never>[] | ToolsOf<never> | undefined,
): HostTools {
  // The casts: the host states what its requests are.
  if (typeof tools === 'function')
    return {
      providers: undefined,
      toolsOf: (request) => fromHost(() => tools(request as never)) as ReturnType<ToolsOf>,
    };
  const providers = (tools === undefined ? [] : [tools].flat()) as readonly ToolProvider[];
  return { providers, toolsOf: () => providers };
}
