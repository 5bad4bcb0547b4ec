-- Figures of a roll as a sum of changes, by group and status: statistics then read a few rows, however many voters there are.
-- Who has voted stands apart, with an empty status, because a first key approves a voter while the ballot is confirmed.
CREATE TABLE "roll_figures" (
	"voting_event_id" text NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "roll_figures_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"group_id" text NOT NULL,
	"status" text NOT NULL,
	"heads" bigint NOT NULL,
	"weight_micro" numeric NOT NULL,
	"voted" bigint NOT NULL,
	"voted_weight_micro" numeric NOT NULL,
	CONSTRAINT "roll_figures_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
ALTER TABLE "roll_figures" ADD CONSTRAINT "roll_figures_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint

-- A row for each group and status of a statement, however many voters it adds or removes. Participants of polls have voted.
CREATE FUNCTION count_roll_of_statement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  -- When an event is deleted its voters go with it.
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT r.voting_event_id, coalesce(r.group_id, ''), r.status, sign * count(*), sign * sum(r.weight_micro),
    sign * count(*) FILTER (WHERE r.source = 'poll'), sign * coalesce(sum(r.weight_micro) FILTER (WHERE r.source = 'poll'), 0)
  FROM roll r JOIN voting_events e ON e.id = r.voting_event_id AND e.deleted_at IS NULL
  WHERE r.deleted_at IS NULL GROUP BY 1, 2, 3;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER voters_count_added AFTER INSERT ON voters REFERENCING NEW TABLE AS roll
  FOR EACH STATEMENT EXECUTE FUNCTION count_roll_of_statement();
--> statement-breakpoint
CREATE TRIGGER voters_count_removed AFTER DELETE ON voters REFERENCING OLD TABLE AS roll
  FOR EACH STATEMENT EXECUTE FUNCTION count_roll_of_statement();
--> statement-breakpoint

-- Row by row, so that changes which leave every figure as it is cost nothing.
CREATE FUNCTION count_changed_voter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT c.event, c.group_id, c.status, c.sign, c.sign * c.weight, CASE WHEN c.poll THEN c.sign ELSE 0 END,
    CASE WHEN c.poll THEN c.sign * c.weight ELSE 0 END
  FROM (VALUES
    (OLD.voting_event_id, coalesce(OLD.group_id, ''), OLD.status, -1, OLD.weight_micro, OLD.source = 'poll', OLD.deleted_at),
    (NEW.voting_event_id, coalesce(NEW.group_id, ''), NEW.status, 1, NEW.weight_micro, NEW.source = 'poll', NEW.deleted_at)
  ) AS c (event, group_id, status, sign, weight, poll, deleted_at)
  WHERE c.deleted_at IS NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER voters_count_changed AFTER UPDATE ON voters FOR EACH ROW
  WHEN ((OLD.status, OLD.weight_micro, OLD.group_id, OLD.deleted_at) IS DISTINCT FROM (NEW.status, NEW.weight_micro, NEW.group_id, NEW.deleted_at))
  EXECUTE FUNCTION count_changed_voter();
--> statement-breakpoint

-- Participation names voters of elections by their ID. Weight and group of who has voted stay as they are.
CREATE FUNCTION count_participation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT v.voting_event_id, coalesce(v.group_id, ''), '', 0, 0, sign * count(*), sign * sum(v.weight_micro)
  FROM took_part p JOIN voters v ON v.voting_event_id = p.voting_event_id AND v.id = p.participant
  WHERE v.source <> 'poll' GROUP BY 1, 2;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER participation_count_added AFTER INSERT ON participation REFERENCING NEW TABLE AS took_part
  FOR EACH STATEMENT EXECUTE FUNCTION count_participation();
--> statement-breakpoint
CREATE TRIGGER participation_count_removed AFTER DELETE ON participation REFERENCING OLD TABLE AS took_part
  FOR EACH STATEMENT EXECUTE FUNCTION count_participation();
--> statement-breakpoint

-- Puts the changes of an event together. A second call at the same time finds those rows gone and leaves them alone.
CREATE FUNCTION fold_roll_figures(p_event text) RETURNS void LANGUAGE sql AS $$
  WITH gone AS (DELETE FROM roll_figures f WHERE f.voting_event_id = p_event RETURNING f.*)
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT voting_event_id, group_id, status, sum(heads), sum(weight_micro), sum(voted), sum(voted_weight_micro)
  FROM gone GROUP BY 1, 2, 3
  HAVING sum(heads) <> 0 OR sum(weight_micro) <> 0 OR sum(voted) <> 0 OR sum(voted_weight_micro) <> 0;
$$;
--> statement-breakpoint

INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
SELECT voting_event_id, coalesce(group_id, ''), status, count(*), sum(weight_micro),
  count(*) FILTER (WHERE source = 'poll'), coalesce(sum(weight_micro) FILTER (WHERE source = 'poll'), 0)
FROM voters WHERE deleted_at IS NULL GROUP BY 1, 2, 3;
--> statement-breakpoint
INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
SELECT v.voting_event_id, coalesce(v.group_id, ''), '', 0, 0, count(*), sum(v.weight_micro)
FROM participation p JOIN voters v ON v.voting_event_id = p.voting_event_id AND v.id = p.participant
WHERE v.source <> 'poll' GROUP BY 1, 2;
