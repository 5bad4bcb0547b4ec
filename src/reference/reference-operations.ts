import { z } from 'zod';
import { answersOne, answersText } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import { searchEntry } from './search-index.ts';

export const getReference = operation({
  operationId: 'getReference',
  summary: 'Read the overview of the reference',
  method: 'GET',
  path: '/reference',
  scope: 'none',
  answers: answersText('text/html', 'A page.'),
});

export const getReferenceScript = operation({
  operationId: 'getReferenceScript',
  summary: 'Read the script of the pages',
  method: 'GET',
  path: '/reference/page.js',
  scope: 'none',
  answers: answersText('text/javascript', 'The search, and buttons that copy.'),
});

export const getReferenceSearch = operation({
  operationId: 'getReferenceSearch',
  summary: 'Read the index of the search',
  method: 'GET',
  path: '/reference/search.json',
  scope: 'none',
  answers: answersOne(z.array(searchEntry), 'Every place that can be found.'),
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
