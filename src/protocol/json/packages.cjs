/** Packages that take longer to load than all else of this one, when they are first needed: in CommonJS, which loads at once. */
'use strict';

// Written out, so that bundlers find them.
exports.undici = () => require('undici');
exports.zod = () => require('zod');
