import { operation } from '#src/http/operation.ts';

export const getSdk = operation({
  operationId: 'getSdk',
  summary: 'Download the SDK for TypeScript and JavaScript',
  description:
    'A package without dependencies: `npm install` takes this address. The guide [SDK](/reference/sdk) shows how it is used.',
  method: 'GET',
  path: '/:file',
  scope: 'none',
  answers: { 200: { description: 'The package.', contentType: 'application/gzip' } },
});
