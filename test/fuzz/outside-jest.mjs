/** Some helpers of the tests choose between `describe` and a skip when they are loaded; outside Jest neither is ever called. */
const nothing = Object.assign(() => {}, { skip() {} });
Object.assign(globalThis, { describe: nothing, it: nothing });
