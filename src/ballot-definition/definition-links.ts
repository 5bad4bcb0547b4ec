import type { Issue } from '#src/platform/errors.ts';
import type { EventDefinition } from './definition-schema.ts';
import { nameKeyOf } from './group.ts';

export const roleMessage = (isNeeded: boolean): string =>
  isNeeded
    ? 'is required for a candidate of a referendum: yes, no or abstain'
    : 'belongs to candidates of a referendum';

/**
 * Issues of references between the rows of a document, and of repeated IDs and names.
 * @param isStored whether the event already has this candidate with these positions and this role. Its role may be missing because its
 * position became a referendum later: the event is then not ready, but the document has no issue (completions 3, rule 4)
 */
export function linkIssues(
  definition: EventDefinition,
  isStored: (candidate: EventDefinition['candidates'][number]) => boolean = () => false,
): Issue[] {
  const issues: Issue[] = [];
  const namesOf = (kind: 'groups' | 'positions' | 'candidates' | 'sponsors'): Set<string> => {
    const seen = new Set<string>();
    definition[kind].forEach(({ id }, index) => {
      if (seen.has(id)) issues.push({ field: `${kind}[${index}].id`, message: 'is named twice' });
      seen.add(id);
    });
    return seen;
  };
  const groupIds = namesOf('groups');
  const positionIds = namesOf('positions');
  namesOf('candidates');
  namesOf('sponsors');
  const groupNames = new Set<string>();
  definition.groups.forEach(({ name }, index) => {
    const key = nameKeyOf(name);
    if (groupNames.has(key)) issues.push({ field: `groups[${index}].name`, message: 'is named twice' });
    groupNames.add(key);
  });
  const referendums = new Set(
    definition.positions.filter(({ votingMethod }) => votingMethod === 'referendum').map(({ id }) => id),
  );
  for (const kind of ['positions', 'candidates'] as const)
    definition[kind].forEach(({ groupId }, index) => {
      if (groupId != null && !groupIds.has(groupId))
        issues.push({ field: `${kind}[${index}].groupId`, message: 'is not a group of this document' });
    });
  definition.candidates.forEach((candidate, index) => {
    candidate.positionIds.forEach((id, place) => {
      const field = `candidates[${index}].positionIds[${place}]`;
      if (!positionIds.has(id)) issues.push({ field, message: 'is not a position of this document' });
    });
    const needsRole = candidate.positionIds.some((id) => referendums.has(id));
    if (needsRole !== (candidate.referendumRole != null) && !isStored(candidate))
      issues.push({ field: `candidates[${index}].referendumRole`, message: roleMessage(needsRole) });
  });
  return issues;
}
