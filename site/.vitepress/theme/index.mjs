/** VitePress's own theme, and diagrams. */
import DefaultTheme from 'vitepress/theme';
import { MermaidDiagram } from './mermaid-diagram.mjs';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
  },
};
