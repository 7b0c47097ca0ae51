/** The client's definition of its own tools. */

/** The client's name and form of its tool; models use only functions without namespaces. */
export interface ToolForm {
  /** The tool's type: a custom tool takes free text, and the others have calls of their own types. */
  readonly kind: 'function' | 'custom' | 'shell' | 'local_shell' | 'apply_patch' | 'tool_search';
  readonly name: string;
  readonly namespace?: string;
}
