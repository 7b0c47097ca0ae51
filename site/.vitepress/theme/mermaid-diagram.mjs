/** Draws a Mermaid diagram in the browser, in the colours of the page; Mermaid is loaded from the site itself, and only by pages that have one. */
import { useData } from 'vitepress';
import { defineComponent, h, onMounted, ref, watch } from 'vue';

let drawn = 0;

export const MermaidDiagram = defineComponent({
  props: { code: { type: String, required: true } },
  setup({ code }) {
    const { isDark } = useData();
    const svg = ref('');
    const source = decodeURIComponent(code);

    async function draw() {
      const { default: mermaid } = await import('mermaid');
      mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme: isDark.value ? 'dark' : 'default' });
      drawn += 1;
      svg.value = (await mermaid.render(`mermaid-${drawn}`, source)).svg;
    }

    onMounted(draw);
    watch(isDark, draw);
    return () => (svg.value ? h('div', { class: 'mermaid-diagram', innerHTML: svg.value }) : h('pre', source));
  },
});
