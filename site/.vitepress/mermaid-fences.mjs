/** Fences of `mermaid` as the component that draws them. */

/** A plugin of markdown-it. */
export function mermaidFences(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index];
    if (info.trim() !== 'mermaid') return fence(tokens, index, ...rest);
    return `<MermaidDiagram code="${encodeURIComponent(content)}" />`;
  };
}
