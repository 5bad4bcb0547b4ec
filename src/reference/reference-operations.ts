import { answersText } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

export const getReference = operation({
  operationId: 'getReference',
  summary: 'Read the overview of the reference',
  method: 'GET',
  path: '/reference',
  scope: 'none',
  answers: answersText('text/html', 'A page.'),
});

export const getReferencePage = operation({
  operationId: 'getReferencePage',
  summary: 'Read a guide or a section of the reference',
  description: 'With `.md` at the end of its name in Markdown, as programs read it; the overview is `index.md`.',
  method: 'GET',
  path: '/reference/:page',
  scope: 'none',
  answers: { 200: { description: 'A page.', contentType: ['text/html', 'text/markdown'] } },
});

export const getReferenceIndex = operation({
  operationId: 'getReferenceIndex',
  summary: 'List the pages of the reference for programs',
  description: 'In the form of [llmstxt.org](https://llmstxt.org), with links to the pages in Markdown.',
  method: 'GET',
  path: '/llms.txt',
  scope: 'none',
  answers: answersText('text/plain', 'The list.'),
});
