/** The tools that the model's programs may call, and how the model is told of them. */
import type { ToolDefinition } from '../../protocol/model-request.ts';

/** A tool that programs may call. */
export interface ProgramTool {
  readonly definition: ToolDefinition;
  /** Whether the model itself may call it, too, and so has its definition already. */
  readonly isListed: boolean;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** The definition of the tool that runs programs, with what they may call and need not find first. */
export function withProgramTools(
  definition: ToolDefinition,
  tools: ReadonlyMap<string, ProgramTool>,
  isHidden: (name: string) => boolean,
): ToolDefinition {
  const lines = [...tools].flatMap(([name, { definition: tool, isListed }]) => {
    if (isHidden(name)) return [];
    const called = IDENTIFIER.test(name) ? `tools.${name}` : `tools[${JSON.stringify(name)}]`;
    const result = tool.outputSchema ? `\n  result: ${JSON.stringify(tool.outputSchema)}` : '';
    if (isListed) return `- ${called}(arguments): as the tool of that name.${result}`;
    const about = tool.description ? `: ${tool.description}` : '';
    return `- ${called}(arguments)${about}\n  arguments: ${JSON.stringify(tool.parameters ?? {})}${result}`;
  });
  if (lines.length < tools.size) lines.push('- those that a search for tools has found, by their names.');
  return { ...definition, description: `${definition.description ?? ''}\nIts tools:\n${lines.join('\n')}` };
}
