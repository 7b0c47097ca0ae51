/** How `npm run docs:api` writes docs/api: one page for each entry of package.json's `exports`, without places, dates or versions. */
import { sources } from './api-entries.mjs';

export default {
  tsconfig: 'tsconfig.api.json',
  plugin: ['./node_modules/typedoc-plugin-markdown/dist/index.js', './typedoc-plugin-api.mjs'],
  entryPoints: [...sources().values()].map((path) => `../${path}`),
  out: '../docs/api',
  router: 'module',
  name: 'API',
  readme: 'none',
  disableSources: true,
  disableGit: true,
  githubPages: false,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  typeDeclarationFormat: 'table',
  typeDeclarationVisibility: 'verbose',
  expandObjects: false,
  excludeExternals: true,
  excludePrivate: true,
  // Tables whose keys are a type, types whose members explain themselves, and what only this package makes or reads.
  intentionallyNotExported: [
    'CODES',
    'ISOLATIONS',
    'PROVIDERS',
    'ConversationMethods',
    'RunningTurns',
    'ToolServerStatus',
    'ApiHost',
    'OpenApi',
    'AnyCoreOptions',
    'SchemaValue',
  ],
  treatValidationWarningsAsErrors: true,
  // The plugin checks comments: TypeDoc's own check also asks for them at literals such as `type: 'url'`.
  validation: { notDocumented: false, notExported: true, invalidLink: true, invalidPath: true },
};
