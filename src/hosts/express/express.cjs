/** Express, loaded by the first router: hosts on other frameworks import the same entries without it. */
'use strict';

// Written out, so that bundlers find it.
exports.express = () => require('express');
