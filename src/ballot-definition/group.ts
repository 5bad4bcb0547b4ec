import { z } from 'zod';
import { timeShape, viewer } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { changesSomething, descriptionField, nameField, searchField } from '#src/http/fields.ts';

/** The key that makes names unique: names that differ only in case or in compatible characters (NFKC) have the same key. */
export const nameKeyOf = (name: string): string => name.normalize('NFKC').toLowerCase();

const groupFields = z.object({ name: nameField(), description: descriptionField() });

export const createGroupBody = z.strictObject({ ...groupFields.partial().shape, name: groupFields.shape.name });

export const updateGroupBody = z.strictObject(groupFields.partial().shape).refine(...changesSomething);

export const searchQuery = z.strictObject({ search: searchField().optional() });

export const groupView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Group',
    description: 'A group of voters and candidates.',
    examples: [
      {
        id: EXAMPLE.group,
        votingEventId: EXAMPLE.event,
        name: 'North',
        description: null,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.createdAt,
      },
    ],
  });

export const viewGroup = viewer(groupView);
