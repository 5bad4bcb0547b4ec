-- A voter whose group is deleted is in none: the database itself takes the group out, when the group's row goes.
UPDATE voters v SET group_id = NULL WHERE v.group_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.voting_event_id = v.voting_event_id AND g.id = v.group_id);
--> statement-breakpoint
ALTER TABLE voters ADD CONSTRAINT voters_group FOREIGN KEY (voting_event_id, group_id)
  REFERENCES groups (voting_event_id, id) ON DELETE SET NULL (group_id);
