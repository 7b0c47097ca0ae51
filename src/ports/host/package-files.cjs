/** The place of this package's files, and `require` from there: in CommonJS, which works in the sources (ES modules) and in the build. */
'use strict';
const { createRequire } = require('node:module');
const { basename, join } = require('node:path');

// A bundler may leave out the names of files: then only packages are found, from the folder of the process.
const here = typeof __dirname === 'string' ? __dirname : join(process.cwd(), 'node_modules');
const parent = join(here, '../..');

exports.requirePackage = createRequire(join(here, 'package-files.cjs'));
exports.BUILD_FOLDER = basename(parent) === 'src' ? join(parent, '../dist') : join(parent, '..');
