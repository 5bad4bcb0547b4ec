import '#src/platform/quick-start.ts';

// `npm run --silent api-document`: the same name in every release, because each is compared with the one before it.
const { makeApiDocument } = await import('./api-document.ts');
process.stdout.write(`${JSON.stringify(await makeApiDocument(), null, 1)}\n`);
