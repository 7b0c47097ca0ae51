/** The keywords of JSON Schema that all who walk over schemas must know. */

/** Keywords that hold schemas by name. Such a name may be a keyword's, but is none. */
export const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const;
